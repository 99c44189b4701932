# tenon_add_plugin(): builds NAME.tenon.so the way the loader wants it. Part of the package, for plugins in and
# outside of Tenon's own tree.
#
#   tenon_add_plugin(NAME
#     SOURCES file...            C, C++, or what else the project can compile
#     [LIBRARIES library...]     linked privately
#     [STATIC]                   a static library for hosts that call tenon_register_static()
#     [TARGET name]              name of the CMake target; default: NAME
#     [OUTPUT_DIRECTORY dir]     default: TENON_PLUGIN_OUTPUT_DIRECTORY where set, else CMake's own
#     [UNCHECKED])               leaves out the check after linking and the test; for plugins that are broken on purpose
#
# NAME is the plugin's id: [a-z][a-z0-9-]*, at most 64 characters. The module exports tenon_plugin_v0 and nothing
# else, resolves every symbol when it is linked and when it is loaded, keeps the symbols of static libraries to
# itself, and has no symbol that the dynamic linker would share with another plugin. Where the project calls
# enable_testing(), a test <target>.lint runs tenon-plugin-lint on it, beside the plugins that come with Tenon.

# As a script (cmake -DFILE=... -DNM=... -DREADELF=... -P TenonAddPlugin.cmake) this file is the check after linking.
if(CMAKE_SCRIPT_MODE_FILE AND CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  cmake_policy(VERSION 3.25)
  execute_process(COMMAND "${NM}" -D --defined-only --format=posix "${FILE}"
    OUTPUT_VARIABLE output RESULT_VARIABLE result ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${FILE}: cannot list its exports: ${error}")
  endif()
  string(REGEX MATCHALL "[^\n]+" lines "${output}")
  set(exports "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE " .*" "" symbol "${line}")
    list(APPEND exports "${symbol}")
  endforeach()
  if(NOT exports STREQUAL "tenon_plugin_v0")
    list(JOIN exports ", " exports)
    message(FATAL_ERROR "${FILE}: exports [${exports}], expected tenon_plugin_v0 and nothing else. Define the object "
      "with TENON_PLUGIN (C++) or as `const tenon_plugin TENON_PLUGIN_OBJECT` (C).")
  endif()
  if(READELF)
    execute_process(COMMAND "${READELF}" -SW "${FILE}" OUTPUT_VARIABLE sections RESULT_VARIABLE result)
    if(result EQUAL 0 AND NOT sections MATCHES "\\.note\\.tenon")
      message(FATAL_ERROR "${FILE}: has no identity note, so no host would load it. Write "
        "TENON_PLUGIN_NOTE(\"id\", \"version\"); once, at file scope (TENON_PLUGIN does it in C++).")
    endif()
  endif()
  return()
endif()

include_guard(GLOBAL)
set(TENON_ADD_PLUGIN_FILE "${CMAKE_CURRENT_LIST_FILE}" CACHE INTERNAL "the script that checks built plugins")

# Half of the SHA-256 of plugin.h, for the note; 0 where the header is not found.
function(tenon_header_hash result)
  set(${result} 0 PARENT_SCOPE)
  get_filename_component(here "${TENON_ADD_PLUGIN_FILE}" DIRECTORY)
  foreach(root IN ITEMS "${here}/../../plugin_api" "${here}/../../.." "${here}/../../../..")
    if(EXISTS "${root}/include/tenon/plugin.h")
      file(SHA256 "${root}/include/tenon/plugin.h" hash)
      string(SUBSTRING "${hash}" 0 16 hash)
      set(${result} "0x${hash}ull" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Options that every plugin is compiled with.
function(tenon_configure_plugin target hash)
  if(COMMAND tenon_configure_target)
    tenon_configure_target(${target})
  else()
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if("CXX" IN_LIST languages)
      target_compile_features(${target} PRIVATE cxx_std_17)
    endif()
  endif()
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    CUDA_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  target_compile_definitions(${target} PRIVATE TENON_HEADER_HASH=${hash})
  target_link_libraries(${target} PRIVATE tenon::plugin_api)
  if(TARGET tenon::contracts)
    target_link_libraries(${target} PRIVATE tenon::contracts)
  endif()
endfunction()

# Options that every plugin is linked with.
function(tenon_link_plugin target name)
  set(map "${CMAKE_CURRENT_BINARY_DIR}/${target}.plugin.map")
  file(CONFIGURE OUTPUT "${map}" CONTENT "{ global: tenon_plugin_v0; local: *; };\n")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${map}"
    "LINKER:-soname,${name}.tenon.so"
    "LINKER:--exclude-libs,ALL"
    "LINKER:-Bsymbolic"
    "LINKER:-z,now"
    "LINKER:-z,relro"
    "LINKER:--build-id")
  # A sanitizer's run-time library is resolved by the host's, so undefined symbols are its way of working.
  get_target_property(options ${target} LINK_OPTIONS)
  if(NOT "${options} ${CMAKE_CXX_FLAGS} ${CMAKE_C_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS}" MATCHES "-fsanitize")
    target_link_options(${target} PRIVATE "LINKER:-z,defs")
  endif()
endfunction()

# The test <target>.lint, by the command of the package or of this tree.
function(tenon_add_lint_test target)
  if(TARGET tenon_plugin_lint)
    add_test(NAME ${target}.lint COMMAND tenon_plugin_lint "$<TARGET_FILE:${target}>")
  elseif(TENON_PLUGIN_LINT)
    set(beside "")
    if(EXISTS "${TENON_PLUGIN_DIR}")
      set(beside --beside "${TENON_PLUGIN_DIR}")
    endif()
    add_test(NAME ${target}.lint COMMAND "${TENON_PLUGIN_LINT}" ${beside} "$<TARGET_FILE:${target}>")
  else()
    return()
  endif()
  set_tests_properties(${target}.lint PROPERTIES LABELS lint TIMEOUT 60)
endfunction()

function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC;UNCHECKED" "TARGET;OUTPUT_DIRECTORY" "SOURCES;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): does not understand "
      "'${arg_UNPARSED_ARGUMENTS}${arg_KEYWORDS_MISSING_VALUES}'; it takes SOURCES, LIBRARIES, STATIC, TARGET, "
      "OUTPUT_DIRECTORY and UNCHECKED")
  endif()
  if(NOT name MATCHES "^[a-z][a-z0-9-]*$")
    message(FATAL_ERROR "tenon_add_plugin(${name}): a plugin's name is its id, [a-z][a-z0-9-]*")
  endif()
  string(LENGTH "${name}" length)
  if(length GREATER 64)
    message(FATAL_ERROR "tenon_add_plugin(${name}): a plugin's name is its id, of at most 64 characters; it has ${length}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): no SOURCES")
  endif()
  if(NOT arg_TARGET)
    set(arg_TARGET ${name})
  endif()
  tenon_header_hash(hash)

  if(arg_STATIC)
    string(REPLACE "-" "_" object "${name}")
    add_library(${arg_TARGET} STATIC ${arg_SOURCES})
    target_compile_definitions(${arg_TARGET} PRIVATE TENON_PLUGIN_STATIC TENON_PLUGIN_OBJECT=tenon_plugin_v0_${object})
    tenon_configure_plugin(${arg_TARGET} ${hash})
    target_link_libraries(${arg_TARGET} PRIVATE ${arg_LIBRARIES})
    return()
  endif()

  add_library(${arg_TARGET} MODULE ${arg_SOURCES})
  set_target_properties(${arg_TARGET} PROPERTIES PREFIX "" OUTPUT_NAME "${name}" SUFFIX ".tenon.so")
  if(CMAKE_INSTALL_RPATH)
    # For the installation CMake would pad the build tree's run path with ':', which means the working directory.
    set_target_properties(${arg_TARGET} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${TENON_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  if(arg_OUTPUT_DIRECTORY)
    set_target_properties(${arg_TARGET} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIRECTORY}")
  endif()
  tenon_configure_plugin(${arg_TARGET} ${hash})
  target_link_libraries(${arg_TARGET} PRIVATE ${arg_LIBRARIES})
  tenon_link_plugin(${arg_TARGET} ${name})
  if(NOT arg_UNCHECKED AND CMAKE_NM)
    add_custom_command(TARGET ${arg_TARGET} POST_BUILD
      COMMAND "${CMAKE_COMMAND}" "-DFILE=$<TARGET_FILE:${arg_TARGET}>" "-DNM=${CMAKE_NM}" "-DREADELF=${CMAKE_READELF}"
              -P "${TENON_ADD_PLUGIN_FILE}"
      VERBATIM)
  endif()
  if(NOT arg_UNCHECKED)
    tenon_add_lint_test(${arg_TARGET})
  endif()
endfunction()
