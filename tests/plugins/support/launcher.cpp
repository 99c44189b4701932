// Calls the plugin through what it registers, as the host does: enumerates it, builds a row,
// launches it.
#include "support/launcher.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <doctest/doctest.h>

extern "C" const tenon_plugin tenon_plugin_v0_cpu;

namespace tenon::test {
namespace {

tenon_status keep_kind(void* context, const tenon_device_kind* kind, tenon_reason* /*reason*/) {
  static_cast<Registered*>(context)->kinds.push_back(*kind);
  return TENON_OK;
}

tenon_status keep_rows(void* context,
                       const tenon_kernel_type* rows,
                       std::uint64_t count,
                       std::uint64_t element_size,
                       tenon_reason* /*reason*/) {
  if (element_size != sizeof(tenon_kernel_type)) return TENON_INVALID_ARGUMENT;
  auto& kept = static_cast<Registered*>(context)->rows;
  kept.insert(kept.end(), rows, rows + count);
  return TENON_OK;
}

tenon_status keep_target(void* /*context*/,
                         const tenon_target* /*target*/,
                         tenon_reason* /*reason*/) {
  return TENON_INTERNAL;  // the plugin has none
}

Registered enumerate() {
  static tenon_host host{};
  host.struct_size = sizeof(host);
  host.abi_major = TENON_ABI_MAJOR;
  host.abi_minor = TENON_ABI_MINOR;
  host.log = [](const tenon_host*, std::int32_t, tenon_str) {};
  Registered out;
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);
  void* self = nullptr;
  REQUIRE(tenon_plugin_v0_cpu.init(&host, &self, &reason) == TENON_OK);
  tenon_registrar registrar{};
  registrar.struct_size = sizeof(registrar);
  registrar.context = &out;
  registrar.add_device_kind = keep_kind;
  registrar.add_kernel_types = keep_rows;
  registrar.add_target = keep_target;
  const tenon_status status = tenon_plugin_v0_cpu.enumerate(self, &registrar, &reason);
  REQUIRE_MESSAGE(status == TENON_OK, reason.text);
  return out;
}

tenon_call call_of(const std::vector<tenon_value>& fields,
                   const std::vector<tenon_arg_facts>& facts) {
  return {sizeof(tenon_call), fields.data(), fields.size(), facts.data(), facts.size()};
}

std::vector<tenon_arg_facts> all_facts(const std::vector<const tenon_tensor*>& arguments) {
  std::vector<tenon_arg_facts> facts;
  for (const tenon_tensor* tensor : arguments) facts.push_back(facts_of(tensor));
  return facts;
}

}  // namespace

const Registered& registered() {
  static const Registered kept = enumerate();
  return kept;
}

const tenon_kernel_type& row_of(std::string_view op, std::string_view key) {
  for (const tenon_kernel_type& row : registered().rows) {
    if (std::string_view(row.op.data, row.op.size_bytes) == op &&
        std::string_view(row.key.data, row.key.size_bytes) == key) {
      return row;
    }
  }
  FAIL("the plugin registers no ", std::string(op), " under ", std::string(key));
  return registered().rows.front();
}

std::vector<const tenon_kernel_type*> rows_serving(
    std::string_view op,
    tenon_dtype dtype,
    const std::vector<tenon_value>& fields,
    const std::vector<const tenon_tensor*>& arguments) {
  std::vector<const tenon_kernel_type*> serving;
  for (const tenon_kernel_type& row : registered().rows) {
    if (std::string_view(row.op.data, row.op.size_bytes) != op) continue;
    bool serves = row.n_storage == 0;
    for (std::uint64_t i = 0; i < row.n_storage; ++i) {
      serves = serves ||
               (row.storage[i].dtype.code == dtype.code && row.storage[i].dtype.bits == dtype.bits);
    }
    for (const tenon_arg_facts& facts : all_facts(arguments)) {
      const bool dense = facts.layout == TENON_LAYOUT_DENSE;
      serves = serves && (dense || (row.layouts & TENON_LAYOUT_BIT(facts.layout)) != 0);
    }
    if (serves && refuse(row, fields, arguments).status == TENON_OK) serving.push_back(&row);
  }
  return serving;
}

std::string key_of(const tenon_kernel_type& row) { return {row.key.data, row.key.size_bytes}; }

const tenon_device& device() {
  static const tenon_device described = [] {
    tenon_device out{};
    out.struct_size = sizeof(out);
    tenon_reason reason{};
    reason.struct_size = sizeof(reason);
    const tenon_device_kind& kind = registered().kinds.at(0);
    REQUIRE(kind.describe(kind.context, 0, &out, &reason) == TENON_OK);
    return out;
  }();
  return described;
}

tenon_value none_value() { return {}; }
tenon_value int_value(std::int64_t value) { return {TENON_VALUE_INT, 0, 0, value, 0, nullptr}; }
tenon_value bool_value(bool value) { return {TENON_VALUE_BOOL, 0, 0, value ? 1 : 0, 0, nullptr}; }
tenon_value float_value(double value) { return {TENON_VALUE_FLOAT, 0, 0, 0, value, nullptr}; }
tenon_value dtype_value(tenon_dtype dtype) {
  return {TENON_VALUE_DTYPE, 0, 0, dtype.code | dtype.bits << 8 | dtype.lanes << 16, 0, nullptr};
}
tenon_value text_value(std::string_view value) {
  return {TENON_VALUE_STR, 0, value.size(), 0, 0, value.data()};
}
tenon_value ints_value(const std::vector<std::int64_t>& values) {
  return {TENON_VALUE_INTS, 0, values.size(), 0, 0, values.data()};
}

tenon_arg_facts facts_of(const tenon_tensor* tensor) {
  tenon_arg_facts facts{0, TENON_LAYOUT_DENSE, 0, -1, 0, 0};
  if (tensor == nullptr) return facts;
  facts.present = 1;
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(tensor->data) + tensor->byte_offset;
  while (facts.align_log2 < 8 && (address >> facts.align_log2 & 1) == 0) ++facts.align_log2;
  bool dense = true;
  bool innermost = true;
  std::int64_t expected = 1;
  for (std::int32_t axis = tensor->rank; axis-- > 0;) {
    const std::int64_t size = tensor->shape[axis];
    const std::int64_t stride = tensor->strides[axis];
    if (size == 1) continue;
    if (stride < 0) facts.layout = std::max(facts.layout, TENON_LAYOUT_REVERSED);
    if (stride == 0) facts.layout = std::max(facts.layout, TENON_LAYOUT_EXPANDED);
    if (innermost && stride != 1) facts.layout = std::max(facts.layout, TENON_LAYOUT_STRIDED);
    if (stride != expected) dense = false;
    expected *= size;
    innermost = false;
  }
  if (!dense) facts.layout = std::max(facts.layout, TENON_LAYOUT_INNER);
  return facts;
}

Outcome refuse(const tenon_kernel_type& row,
               const std::vector<tenon_value>& fields,
               const std::vector<const tenon_tensor*>& arguments) {
  if (row.refuse == nullptr) return {};
  const std::vector<tenon_arg_facts> facts = all_facts(arguments);
  const tenon_call call = call_of(fields, facts);
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);
  const tenon_status status = row.refuse(row.context, &device(), &call, &reason);
  return {status, reason.text};
}

Outcome launch(const tenon_kernel_type& row,
               const std::vector<tenon_value>& fields,
               const std::vector<const tenon_tensor*>& arguments,
               std::uint64_t flags,
               const tenon_device& on) {
  const std::vector<tenon_arg_facts> facts = all_facts(arguments);
  const tenon_call call = call_of(fields, facts);
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);

  tenon_build build{};
  build.struct_size = sizeof(build);
  build.device = &on;
  build.call = &call;
  tenon_kernel kernel{};
  kernel.struct_size = sizeof(kernel);
  tenon_status status = row.build(row.context, nullptr, &build, &kernel, &reason);
  if (status != TENON_OK) return {status, reason.text};

  std::vector<std::uint32_t> arg_first(arguments.size() + 1);
  std::iota(arg_first.begin(), arg_first.end(), 0U);
  tenon_launch request{};
  request.struct_size = sizeof(request);
  request.device = &on;
  request.call = &call;
  request.tensors = arguments.data();
  request.arg_first = arg_first.data();
  request.n_args = arguments.size();
  request.flags = flags;
  // Exactly as much as was asked for, aligned as the host aligns it, so that a sanitizer sees an
  // excess.
  std::uint64_t workspace_bytes = 0;
  if (kernel.workspace != nullptr)
    REQUIRE(kernel.workspace(kernel.state, &call, &workspace_bytes) == TENON_OK);
  void* workspace = nullptr;
  if (workspace_bytes > 0) REQUIRE(posix_memalign(&workspace, 256, workspace_bytes) == 0);
  request.workspace = workspace;
  request.workspace_bytes = workspace_bytes;
  status = kernel.launch(kernel.state, &request, &reason);
  kernel.destroy(kernel.state);
  std::free(workspace);
  return {status, reason.text};
}

}  // namespace tenon::test
