# A host of ABI 1.2 with plugins of 1.x. The files of the loader that know the ABI's number are compiled once more, and
# stand before the library's own.
set(versioned_folder "${CMAKE_CURRENT_BINARY_DIR}/versioned")
set(versioned_targets "")

# versioned/NAME/NAME.tenon.so: a plugin of 1.MINOR that needs a host of 1.TARGET. Its id is `cpu`, for it owns that kind:
# the plugin of this tree speaks another ABI than that host.
function(tenon_versioned_plugin name minor target)
  tenon_add_plugin(${name} TARGET versioned_${name} SOURCES versioned/plugin.c
    OUTPUT_DIRECTORY "${versioned_folder}/${name}" UNCHECKED)
  set_property(TARGET versioned_${name} PROPERTY C_STANDARD 11)
  target_compile_definitions(versioned_${name} PRIVATE "VERSIONED_ID=\"cpu\"" TENON_ABI_TEST_MAJOR=1u
    TENON_ABI_TEST_MINOR=${minor}u TENON_TARGET_MINOR=${target}u ${ARGN})
  set(versioned_targets ${versioned_targets} versioned_${name} PARENT_SCOPE)
endfunction()
tenon_versioned_plugin(v1-0 0 0)
tenon_versioned_plugin(v1-0-shorter 0 0 VERSIONED_SHORTER)
tenon_versioned_plugin(v1-2 2 2)
tenon_versioned_plugin(v1-3-needs-1 3 1)
tenon_versioned_plugin(v1-3-needs-3 3 3)
tenon_versioned_plugin(v1-3-longer 3 2 VERSIONED_LONGER)

set(host_sources abi_version elf normalise note plugin_host)
list(TRANSFORM host_sources PREPEND "${PROJECT_SOURCE_DIR}/loader/src/")
list(TRANSFORM host_sources APPEND ".cpp")
add_executable(tenon_loader_host_version_test host_version_test.cpp ${host_sources})
target_compile_definitions(tenon_loader_host_version_test PRIVATE TENON_ABI_TEST_MAJOR=1u TENON_ABI_TEST_MINOR=2u
  TENON_VERSIONED="${versioned_folder}" TENON_CPU_PLUGIN="$<TARGET_FILE:tenon_cpu_plugin>")
target_link_libraries(tenon_loader_host_version_test PRIVATE tenon::test_fakes)
add_dependencies(tenon_loader_host_version_test tenon_cpu_plugin ${versioned_targets})
