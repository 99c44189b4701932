# What CTest runs: the plugin loads, its kernel is chosen where it says so and refuses where it
# says so, and its results agree with the reference in float64.
# Beside the CPU plugin, which holds the reference, and no other that may be installed here.
set(tenon ${CMAKE_COMMAND} -E env TENON_PLUGIN_PATH=${TENON_PLUGIN_DIR}/cpu.tenon.so ${TENON_COMMAND})
set(plugins --plugin-path $<TARGET_FILE:acme>)
set(where ${plugins} --device widget:0)
set(short RMSNormFwdOp x=64x512:f32~normal weight=512:f32~normal --set normalized_shape=[512])
set(long RMSNormFwdOp x=8x8192:f32~normal --set normalized_shape=[8192])

add_test(NAME note COMMAND ${tenon} plugins inspect $<TARGET_FILE:acme>)
add_test(NAME loads COMMAND ${tenon} plugins ${plugins} --set-config plugins.required=[acme])
add_test(NAME chosen COMMAND ${tenon} explain ${short} ${where})
set_tests_properties(chosen PROPERTIES PASS_REGULAR_EXPRESSION "acme:short_rows")
# As JSON, since a table's lines are broken where they are long.
add_test(NAME refuses_long_rows COMMAND ${tenon} explain ${long} ${where} --json)
set_tests_properties(refuses_long_rows PROPERTIES PASS_REGULAR_EXPRESSION "serves n <= 4096, got 8192")
add_test(NAME values COMMAND ${tenon} run ${short} ${where} --check)
add_test(NAME values_without_weight
  COMMAND ${tenon} run RMSNormFwdOp x=1x1:f32~normal --set normalized_shape=[1] ${where} --check)
# A check that compared the reference kernel with itself proves nothing of this plugin's.
set_tests_properties(values values_without_weight PROPERTIES FAIL_REGULAR_EXPRESSION "nothing compared")
