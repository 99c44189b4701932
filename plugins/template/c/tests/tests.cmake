# What CTest runs: the plugin loads, its kernel is chosen where it says so and refuses where it
# says so, and its results agree with the reference in float64.
# Beside the CPU plugin, which holds the reference, and no other that may be installed here.
set(tenon ${CMAKE_COMMAND} -E env TENON_PLUGIN_PATH=${TENON_PLUGIN_DIR}/cpu.tenon.so ${TENON_COMMAND})
set(where --plugin-path $<TARGET_FILE:acme-c>)
set(short RMSNormFwdOp x=64x512:f32~normal weight=512:f32~normal --set normalized_shape=[512])
set(long RMSNormFwdOp x=2x65537:f32~normal --set normalized_shape=[65537])

add_test(NAME note COMMAND ${tenon} plugins inspect $<TARGET_FILE:acme-c>)
add_test(NAME loads COMMAND ${tenon} plugins ${where} --set-config plugins.required=[acme-c])
add_test(NAME chosen COMMAND ${tenon} explain ${short} ${where})
set_tests_properties(chosen PROPERTIES PASS_REGULAR_EXPRESSION "acme-c:rows")
# As JSON, since a table's lines are broken where they are long.
add_test(NAME refuses_long_rows COMMAND ${tenon} explain ${long} ${where} --json)
set_tests_properties(refuses_long_rows PROPERTIES PASS_REGULAR_EXPRESSION "serves rows of at most 65536 elements")
add_test(NAME values COMMAND ${tenon} run ${short} ${where} --check)
add_test(NAME values_without_weight
  COMMAND ${tenon} run RMSNormFwdOp x=1x1:f32~normal --set normalized_shape=[1] ${where} --check)
add_test(NAME values_transposed
  COMMAND ${tenon} run RMSNormFwdOp x=33x257:f32^1,0~normal --set normalized_shape=[257] ${where} --check)
# A check that compared the reference kernel with itself proves nothing of this plugin's.
set_tests_properties(values values_without_weight values_transposed
  PROPERTIES FAIL_REGULAR_EXPRESSION "nothing compared")
