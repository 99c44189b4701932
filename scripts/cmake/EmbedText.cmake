# Writes files into a C++ source as string literals. Run by the build:
#   cmake -DOUTPUT=FILE "-DFILES=a.yaml;b.yaml" -DINCLUDE=HEADER -DNAMESPACE=NAME -DFUNCTION=NAME [-DROOT=FOLDER]
#     -P EmbedText.cmake
# HEADER declares `struct EmbeddedFile { name; text; }` and `std::span<const EmbeddedFile> FUNCTION() noexcept` in the
# namespace. A file's name is its last part, or the path below ROOT.
set(text "// Files as text. Written by the build: do not edit.\n")
string(APPEND text "#include \"${INCLUDE}\"\n\nnamespace ${NAMESPACE} {\nnamespace {\n\n")
string(APPEND text "constexpr EmbeddedFile kFiles[] = {\n")
foreach(file IN LISTS FILES)
  if(ROOT)
    file(RELATIVE_PATH name "${ROOT}" "${file}")
  else()
    get_filename_component(name "${file}" NAME)
  endif()
  file(READ "${file}" contents)
  string(FIND "${contents}" ")tenon\"" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} holds the text that ends its literal: )tenon\"")
  endif()
  string(APPEND text "    {\"${name}\", R\"tenon(${contents})tenon\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\n")
string(APPEND text "std::span<const EmbeddedFile> ${FUNCTION}() noexcept { return kFiles; }\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE "${OUTPUT}" "${text}")
