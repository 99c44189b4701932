# Installs a build to a folder of its own; copies each example out of the tree; configures, builds and tests it
# there against the installed package alone.
foreach(name TENON_BUILD TENON_SOURCE WORK)
  if(NOT ${name})
    message(FATAL_ERROR "package_test.cmake needs -D${name}=...")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
run(${CMAKE_COMMAND} --install ${TENON_BUILD} --prefix ${prefix})

file(GLOB projects RELATIVE "${TENON_SOURCE}/examples" "${TENON_SOURCE}/examples/*/CMakeLists.txt")
if(NOT projects)
  message(FATAL_ERROR "there is no example project under ${TENON_SOURCE}/examples")
endif()
foreach(project IN LISTS projects)
  get_filename_component(name "${project}" DIRECTORY)
  # Out of the tree, so that nothing of it can be found by a relative path.
  file(COPY "${TENON_SOURCE}/examples/${name}" DESTINATION "${WORK}/examples")
  run(${CMAKE_COMMAND} -S ${WORK}/examples/${name} -B ${WORK}/build/${name} -G Ninja
    -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}
    -DTENON_EXAMPLE_DATA=${TENON_SOURCE}/examples/data)
  run(${CMAKE_COMMAND} --build ${WORK}/build/${name})
  run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build/${name} --no-tests=error --output-on-failure)
  message(STATUS "examples/${name}: configured, built and tested against ${prefix}")
endforeach()
