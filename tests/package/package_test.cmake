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

# The command finds the plugins of its own installation, wherever that lies and with nothing set.
execute_process(COMMAND env -i HOME=${WORK} ${prefix}/bin/tenon plugins --json
  RESULT_VARIABLE result OUTPUT_VARIABLE listed ERROR_VARIABLE said)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "tenon plugins failed (${result}): ${said}")
endif()
string(JSON plugins LENGTH "${listed}" plugins)
set(found FALSE)
if(plugins GREATER 0)
  math(EXPR last "${plugins} - 1")
  foreach(i RANGE ${last})
    string(JSON path GET "${listed}" plugins ${i} path)
    string(JSON state GET "${listed}" plugins ${i} state)
    cmake_path(IS_PREFIX prefix "${path}" NORMALIZE inside)
    if(inside AND state STREQUAL "active" AND path MATCHES "/cpu\\.tenon\\.so$")
      set(found TRUE)
    endif()
  endforeach()
endif()
if(NOT found)
  message(FATAL_ERROR "the installed command does not find its own plugins:\n${listed}")
endif()
message(STATUS "tenon plugins: the installation's own plugins are found")

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
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER})
  run(${CMAKE_COMMAND} --build ${WORK}/build/${name})
  run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build/${name} --no-tests=error --output-on-failure)
  message(STATUS "examples/${name}: configured, built and tested against ${prefix}")
endforeach()

# A vendor's first hour: a generated project of each kind builds, passes its tests, and its kernel is chosen.
set(tenon ${prefix}/bin/tenon)
function(new_plugin name)
  set(folder ${WORK}/new/${name})
  run(${tenon} new-plugin ${name} --into ${folder} ${ARGN})
  run(${CMAKE_COMMAND} -S ${folder} -B ${folder}/build -G Ninja
    -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER})
  run(${CMAKE_COMMAND} --build ${folder}/build)
  run(${CMAKE_CTEST_COMMAND} --test-dir ${folder}/build --no-tests=error --output-on-failure)
  # Installed, it is there for those that follow, whose tests must not see it.
  run(${CMAKE_COMMAND} --install ${folder}/build --prefix ${prefix})
  execute_process(COMMAND ${tenon} plugins RESULT_VARIABLE result OUTPUT_VARIABLE listed)
  if(NOT result EQUAL 0 OR NOT listed MATCHES "/${name}\\.tenon\\.so")
    message(FATAL_ERROR "plugin ${name} was installed, and tenon does not find it:\n${listed}")
  endif()
  message(STATUS "new-plugin ${name} ${ARGN}: written, configured, built and tested against ${prefix}")
endfunction()
new_plugin(acme)
new_plugin(short-circuit --device gadget)
new_plugin(plain --lang c)
# As long a name as there can be, in both languages.
string(REPEAT "-long" 11 long)
new_plugin(cpp-named${long})
new_plugin(plain-old${long} --lang c)
