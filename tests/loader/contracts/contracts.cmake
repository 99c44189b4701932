# A plugin that was built against contracts/v1, for hosts with v1, with v2 and with a manifest that broke it.
set(contracts_include "${CMAKE_CURRENT_BINARY_DIR}/contracts/include")
add_custom_command(OUTPUT "${contracts_include}/tenon/contracts/blend.h"
  COMMAND tenon_manifest_codegen headers "${contracts_include}" "${CMAKE_CURRENT_SOURCE_DIR}/contracts/v1"
  DEPENDS tenon_manifest_codegen contracts/v1/blend.yaml
  COMMENT "Generating the contract of an older manifest"
  VERBATIM)
tenon_add_plugin(blend TARGET loader_blend SOURCES contracts/plugin.c "${contracts_include}/tenon/contracts/blend.h"
  OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/contracts" UNCHECKED)
set_property(TARGET loader_blend PROPERTY C_STANDARD 11)
target_include_directories(loader_blend BEFORE PRIVATE "${contracts_include}")

add_executable(tenon_loader_contracts_test contracts_test.cpp owners_test.cpp)
target_compile_definitions(tenon_loader_contracts_test PRIVATE TENON_BLEND_PLUGIN="$<TARGET_FILE:loader_blend>"
  TENON_CONTRACTS="${CMAKE_CURRENT_SOURCE_DIR}/contracts" TENON_CPU_PLUGIN="$<TARGET_FILE:tenon_cpu_plugin>")
target_link_libraries(tenon_loader_contracts_test PRIVATE tenon::test_fakes)
add_dependencies(tenon_loader_contracts_test loader_blend tenon_cpu_plugin)
