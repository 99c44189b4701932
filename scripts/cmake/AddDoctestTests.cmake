# Writes the CTest file of one doctest executable, one test a case. Used in place of doctest's own script, which
# loses cases: it splits names at ';' and '[', and hands commas on unescaped, so that doctest takes a name for
# two filters, runs nothing and reports success.
execute_process(COMMAND ${TEST_EXECUTOR} "${TEST_EXECUTABLE}" --list-test-cases --no-colors
  OUTPUT_VARIABLE output RESULT_VARIABLE result ERROR_VARIABLE error WORKING_DIRECTORY "${TEST_WORKING_DIR}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "'${TEST_EXECUTABLE}' cannot list its tests: ${result}\n${output}${error}")
endif()

set(script "")
set(count 0)
# No list is made of the names: CMake's lists would split or join them.
while(NOT output STREQUAL "")
  string(FIND "${output}" "\n" end)
  if(end EQUAL -1)
    set(line "${output}")
    set(output "")
  else()
    string(SUBSTRING "${output}" 0 ${end} line)
    math(EXPR next "${end} + 1")
    string(SUBSTRING "${output}" ${next} -1 output)
  endif()
  if(line STREQUAL "" OR line MATCHES "^\\[doctest\\] " OR line MATCHES "^=+$")
    continue()
  endif()
  math(EXPR count "${count} + 1")
  string(REPLACE "\\" "\\\\" filter "${line}")
  string(REPLACE "," "\\," filter "${filter}")
  set(name "${TEST_PREFIX}${line}${TEST_SUFFIX}")
  string(APPEND script
    "add_test([==[${name}]==] ${TEST_EXECUTOR} [==[${TEST_EXECUTABLE}]==] [==[--test-case=${filter}]==] ${TEST_EXTRA_ARGS})\n"
    "set_tests_properties([==[${name}]==] PROPERTIES WORKING_DIRECTORY [==[${TEST_WORKING_DIR}]==]\n"
    "  FAIL_REGULAR_EXPRESSION [==[test cases: +0 ]==]")
  # The caller's properties, pairs of name and value.
  foreach(word IN LISTS TEST_PROPERTIES)
    string(APPEND script " [==[${word}]==]")
  endforeach()
  string(APPEND script ")\n")
endwhile()
if(count EQUAL 0)
  message(FATAL_ERROR "'${TEST_EXECUTABLE}' has no test case")
endif()
file(WRITE "${CTEST_FILE}" "${script}")
