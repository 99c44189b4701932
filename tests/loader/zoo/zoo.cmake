# The zoo: the bad plugins that are built for it beside the fakes of tests/support, and its test.
set(zoo_folder "${CMAKE_CURRENT_BINARY_DIR}/zoo")
set(zoo_targets "")

# bad.c, once for each fault.
file(STRINGS zoo/faults.h bad_count REGEX "BAD_COUNT")
string(REGEX REPLACE ".* ([0-9]+)$" "\\1" bad_count "${bad_count}")
math(EXPR bad_last "${bad_count} - 1")
foreach(fault RANGE ${bad_last})
  tenon_add_plugin(bad-${fault} TARGET zoo_bad_${fault} SOURCES zoo/bad.c OUTPUT_DIRECTORY "${zoo_folder}" UNCHECKED)
  target_compile_definitions(zoo_bad_${fault} PRIVATE BAD_FAULT=${fault})
  set_property(TARGET zoo_bad_${fault} PROPERTY C_STANDARD 11)
  list(APPEND zoo_targets zoo_bad_${fault})
endforeach()

# A library that is no plugin.
add_library(zoo_library MODULE zoo/library.c)
set_target_properties(zoo_library PROPERTIES PREFIX "" OUTPUT_NAME library LIBRARY_OUTPUT_DIRECTORY "${zoo_folder}")
list(APPEND zoo_targets zoo_library)

# zoo/NAME/NAME.tenon.so, which takes libraries as a plugin of another build system would.
function(tenon_zoo_twin name number)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LIBRARY" "DEFINES;LINK")
  add_library(zoo_${name} MODULE zoo/twin.cpp)
  set_target_properties(zoo_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX ".tenon.so"
    LIBRARY_OUTPUT_DIRECTORY "${zoo_folder}/${name}" BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  target_compile_features(zoo_${name} PRIVATE cxx_std_17)
  target_compile_definitions(zoo_${name} PRIVATE "TWIN_ID=\"${name}\"" TWIN_NUMBER=${number} ${arg_DEFINES})
  target_link_libraries(zoo_${name} PRIVATE tenon::plugin_api ${arg_LIBRARY})
  target_link_options(zoo_${name} PRIVATE ${arg_LINK})
  set(zoo_targets ${zoo_targets} zoo_${name} PARENT_SCOPE)
endfunction()

foreach(number 1 2)
  tenon_zoo_twin(soname-${number} ${number} LINK "LINKER:-soname,twin.tenon.so")
  tenon_zoo_twin(unique-${number} ${number} DEFINES TWIN_UNIQUE)
  add_library(zoo_shipped_${number} SHARED zoo/library.c)
  target_compile_definitions(zoo_shipped_${number} PRIVATE SHIPPED_NUMBER=${number})
  set_target_properties(zoo_shipped_${number} PROPERTIES OUTPUT_NAME zoo-shipped SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY "${zoo_folder}/library-${number}")
  tenon_zoo_twin(library-${number} ${number} LIBRARY zoo_shipped_${number} DEFINES TWIN_LIBRARY)
endforeach()

# A plugin that needs a library which is nowhere: the library that it is linked with lies in another folder.
add_library(zoo_absent SHARED zoo/library.c)
set_target_properties(zoo_absent PROPERTIES OUTPUT_NAME that-nobody-has SOVERSION 7
  LIBRARY_OUTPUT_DIRECTORY "${zoo_folder}/absent")
tenon_zoo_twin(needy 0 LIBRARY zoo_absent DEFINES TWIN_LIBRARY)

add_executable(tenon_loader_zoo_test
  misdeeds_test.cpp
  zoo_files_test.cpp
  zoo_tables_test.cpp
  zoo_test.cpp)
target_compile_definitions(tenon_loader_zoo_test PRIVATE TENON_ZOO="${zoo_folder}"
  TENON_CPU_PLUGIN="$<TARGET_FILE:tenon_cpu_plugin>")
target_link_libraries(tenon_loader_zoo_test PRIVATE tenon::test_fakes)
add_dependencies(tenon_loader_zoo_test tenon_cpu_plugin ${zoo_targets})
