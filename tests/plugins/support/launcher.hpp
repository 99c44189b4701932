// Calls the plugin through what it registers, as the host does: enumerates it, builds a row,
// launches it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/plugin.h"

namespace tenon::test {

/// Everything that the plugin registers. Made once.
struct Registered {
  std::vector<tenon_device_kind> kinds;
  std::vector<tenon_kernel_type> rows;
};
const Registered& registered();

/// The row of an op under a key. Ends the test where there is none.
const tenon_kernel_type& row_of(std::string_view op, std::string_view key = "reference");

/// Every row of an op that serves the call, the reference among them: dtypes, layouts and refusal
/// as the host reads them.
std::vector<const tenon_kernel_type*> rows_serving(
    std::string_view op,
    tenon_dtype dtype,
    const std::vector<tenon_value>& fields,
    const std::vector<const tenon_tensor*>& arguments);

/// A row's key.
std::string key_of(const tenon_kernel_type& row);

/// cpu:0 as the plugin describes it.
const tenon_device& device();

tenon_value none_value();
tenon_value int_value(std::int64_t value);
tenon_value bool_value(bool value);
tenon_value float_value(double value);
tenon_value dtype_value(tenon_dtype dtype);
tenon_value text_value(std::string_view value);
tenon_value ints_value(const std::vector<std::int64_t>& values);

struct Outcome {
  tenon_status status = TENON_OK;
  std::string text;
};

/// Facts of an argument as the host would state them.
tenon_arg_facts facts_of(const tenon_tensor* tensor);

/// Asks the row whether it serves the call. OK where it has no refusal.
Outcome refuse(const tenon_kernel_type& row,
               const std::vector<tenon_value>& fields,
               const std::vector<const tenon_tensor*>& arguments);

/// Builds, launches once, destroys.
Outcome launch(const tenon_kernel_type& row,
               const std::vector<tenon_value>& fields,
               const std::vector<const tenon_tensor*>& arguments,
               std::uint64_t flags = 0,
               const tenon_device& on = device());

}  // namespace tenon::test
