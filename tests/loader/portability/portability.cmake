# One plugin, built by other compilers and against other standard libraries than the host; all are loaded into one
# process. Only compiler and library differ: the options are those of tenon_add_plugin().
set(TENON_LIBCXX_FLAGS "-stdlib=libc++" CACHE STRING "Options with which clang++ takes libc++ (package libc++-dev)")
# Where scripts/setup.sh unpacks libc++ if it cannot be installed.
set(libcxx_unpacked "${PROJECT_SOURCE_DIR}/.cache/libcxx")
set(portable_folder "${CMAKE_CURRENT_BINARY_DIR}/portable")
set(portable_files "")
set(portable_names "")
set(portable_skipped "")
file(CONFIGURE OUTPUT portable.map CONTENT "{ global: tenon_plugin_v0; local: *; };\n")

# portable/NAME.tenon.so of one source, by one command.
function(tenon_portable_plugin name source)
  set(file "${portable_folder}/${name}.tenon.so")
  add_custom_command(OUTPUT "${file}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${portable_folder}"
    COMMAND ${ARGN} -O1 -fPIC -shared -fvisibility=hidden "-DPORTABLE_ID=\"${name}\""
      "-I${PROJECT_SOURCE_DIR}/plugin_api/include" "-I${CMAKE_BINARY_DIR}/generated/include"
      "-Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/portable.map" -Wl,--exclude-libs,ALL -Wl,-Bsymbolic
      -Wl,-z,defs -Wl,-z,now "-Wl,-soname,${name}.tenon.so" "${source}" -o "${file}"
    DEPENDS "${source}" tenon_contracts_generate
    COMMENT "Building the portable plugin ${name}"
    VERBATIM)
  set(portable_files ${portable_files} "${file}" PARENT_SCOPE)
  set(portable_names ${portable_names} ${name} PARENT_SCOPE)
endfunction()

set(portable_source "${CMAKE_CURRENT_SOURCE_DIR}/portability/portable.cpp")
find_program(TENON_C_gcc gcc)
find_program(TENON_CXX_gcc g++)
find_program(TENON_CXX_clang clang++)
mark_as_advanced(TENON_C_gcc TENON_CXX_gcc TENON_CXX_clang)
if(TENON_CXX_gcc AND TENON_C_gcc)
  tenon_portable_plugin(gxx "${portable_source}" ${TENON_CXX_gcc} -std=c++17 -fno-gnu-unique)
  tenon_portable_plugin(gxx-debug "${portable_source}" ${TENON_CXX_gcc} -std=c++17 -fno-gnu-unique -D_GLIBCXX_DEBUG)
  tenon_portable_plugin(gxx-static "${portable_source}" ${TENON_CXX_gcc} -std=c++20 -fno-gnu-unique -static-libstdc++
    -static-libgcc)
  tenon_portable_plugin(golden "${PROJECT_SOURCE_DIR}/tests/golden/plugins/abi-0.1/golden.c" ${TENON_C_gcc} -std=c11)
else()
  list(APPEND portable_skipped "gcc: it is not installed")
endif()
if(TENON_CXX_clang)
  tenon_portable_plugin(clangxx "${portable_source}" ${TENON_CXX_clang} -std=c++20)
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/libcxx.cpp" "#include <map>\nint main() { return std::map<int, int>().empty() ? 0 : 1; }\n")
  separate_arguments(libcxx_flags NATIVE_COMMAND "${TENON_LIBCXX_FLAGS}")
  set(libcxx_probe "${CMAKE_CURRENT_BINARY_DIR}/libcxx.cpp" -o "${CMAKE_CURRENT_BINARY_DIR}/libcxx")
  execute_process(COMMAND ${TENON_CXX_clang} ${libcxx_flags} ${libcxx_probe}
    RESULT_VARIABLE libcxx_result OUTPUT_QUIET ERROR_QUIET)
  file(GLOB libcxx_root LIST_DIRECTORIES true "${libcxx_unpacked}/usr/lib/llvm-*")
  if(NOT libcxx_result EQUAL 0 AND libcxx_root)
    # Beside the plugins, where a run path below $ORIGIN finds them; all three are named, because a run path serves
    # the library that has it alone.
    file(GLOB libcxx_files "${libcxx_root}/lib/lib*.so.1*")
    file(COPY ${libcxx_files} DESTINATION "${portable_folder}/libcxx" FOLLOW_SYMLINK_CHAIN)
    set(libcxx_flags -nostdinc++ -isystem "${libcxx_root}/include/c++/v1" -nostdlib++ "-L${portable_folder}/libcxx"
      -Wl,--no-as-needed -l:libc++.so.1 -l:libc++abi.so.1 -l:libunwind.so.1 "-Wl,-rpath,$ORIGIN/libcxx"
      "-Wl,-rpath-link,${portable_folder}/libcxx")
    execute_process(COMMAND ${TENON_CXX_clang} ${libcxx_flags} ${libcxx_probe}
      RESULT_VARIABLE libcxx_result OUTPUT_QUIET ERROR_QUIET)
  endif()
  if(libcxx_result EQUAL 0)
    tenon_portable_plugin(libcxx "${portable_source}" ${TENON_CXX_clang} -std=c++17 ${libcxx_flags})
  else()
    list(APPEND portable_skipped "libc++: clang++ does not find it (packages libc++-dev and libc++abi-dev, or scripts/setup.sh)")
  endif()
else()
  list(APPEND portable_skipped "clang with libstdc++ and with libc++: clang++ is not installed")
endif()
add_custom_target(tenon_portable_plugins DEPENDS ${portable_files})

file(CONFIGURE OUTPUT portable/portable_plugins.hpp CONTENT [[
// Which of the portable plugins this build has, and why it lacks others. Written by CMake: do not edit.
#pragma once
#define TENON_PORTABLE_NAMES "@portable_names@"
#define TENON_PORTABLE_SKIPPED "@portable_skipped@"
]] @ONLY)
add_executable(tenon_loader_portability_test portability_test.cpp)
target_compile_definitions(tenon_loader_portability_test PRIVATE TENON_CPU_PLUGIN="$<TARGET_FILE:tenon_cpu_plugin>"
  TENON_PORTABLE="${portable_folder}")
target_include_directories(tenon_loader_portability_test PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
add_dependencies(tenon_loader_portability_test tenon_cpu_plugin tenon_portable_plugins)
if(portable_files)
  add_test(NAME abi.lint.portable_plugins COMMAND tenon_plugin_lint ${portable_files})
  set_tests_properties(abi.lint.portable_plugins PROPERTIES LABELS lint TIMEOUT 60)
endif()
