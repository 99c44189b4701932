// The table of roofline functions, and the call as they see it.
#include "tenon/core/roofline.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "signature/plan.hpp"

namespace tenon {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, RooflineFunction, std::less<>> functions;
};

/// Lives as long as the process: plans may ask at its very end.
Table& table() {
  static Table* const kTable = new Table;  // NOLINT(cppcoreguidelines-owning-memory): never freed
  return *kTable;
}

bool is_word(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text.front()) &&
         std::all_of(
             text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// The one spelling under which a function is kept.
std::string key_of(std::string_view name) {
  if (!name.starts_with(kRooflinePrivatePrefix)) return std::string(name);
  return std::string(kRooflinePrefix).append(name.substr(kRooflinePrivatePrefix.size()));
}

const Value* find(const std::vector<NamedValue>& values, std::string_view name) noexcept {
  for (const NamedValue& value : values) {
    if (value.first == name) return &value.second;
  }
  return nullptr;
}

}  // namespace

const Value* RooflineCall::param(std::string_view name) const noexcept {
  return find(params, name);
}

const Value* RooflineCall::index(std::string_view name) const noexcept {
  return find(indices, name);
}

const RooflineTensor* RooflineCall::tensor(std::string_view name) const noexcept {
  for (const RooflineTensor& t : tensors) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

std::int64_t RooflineCall::size(std::string_view name) const noexcept {
  const Value* value = index(name);
  const auto* number = value == nullptr ? nullptr : value->get_if<std::int64_t>();
  return number == nullptr ? 0 : *number;
}

bool is_roofline_name(std::string_view name) noexcept {
  std::size_t parts = 0;
  while (true) {
    const std::size_t dot = name.find('.');
    if (!is_word(name.substr(0, dot))) return false;
    ++parts;
    if (dot == std::string_view::npos) return parts > 1;
    name.remove_prefix(dot + 1);
  }
}

Result<void> register_roofline(std::string_view name, RooflineFunction function) {
  const auto bad = [&](std::string why) {
    return fail(
        Error(ErrorCode::kUsageError,
              fmt::format("the roofline function '{}' cannot be registered: {}", name, why)));
  };
  if (!is_roofline_name(name))
    return bad(fmt::format("its name is no dotted name such as {}NAME", kRooflinePrefix));
  if (!function) return bad("it is empty");
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto [at, fresh] = all.functions.try_emplace(key_of(name));
  if (!fresh) return bad("the name is taken");
  at->second = std::move(function);
  return {};
}

const RooflineFunction* find_roofline(std::string_view name) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.functions.find(key_of(name));
  return found == all.functions.end() ? nullptr : &found->second;  // which never moves
}

namespace signature {
namespace {

/// The elements of a tensor of ints in host memory, in row-major order.
std::vector<std::int64_t> elements_of(const TensorView& view) {
  std::vector<std::int64_t> elements;
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(view.count(), 0));
  elements.reserve(count);
  std::vector<std::int64_t> at(view.shape.size(), 0);
  for (std::size_t n = 0; n < count; ++n) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) offset += at[axis] * view.strides[axis];
    const std::byte* place =
        view.first() + offset * static_cast<std::int64_t>(size_bytes_of(view.dtype));
    std::int64_t wide = 0;
    std::int32_t narrow = 0;
    const bool is_wide = view.dtype == DType::kInt64;
    std::memcpy(is_wide ? static_cast<void*>(&wide) : &narrow, place, size_bytes_of(view.dtype));
    elements.push_back(is_wide ? wide : narrow);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < view.shape[axis]) break;
      at[axis] = 0;
    }
  }
  return elements;
}

bool is_readable(const CallArgs& args, const TensorView& view) {
  return !args.meta && view.data != nullptr && view.device.kind == DeviceKind() &&
         (view.dtype == DType::kInt32 || view.dtype == DType::kInt64);
}

RooflineTensor roofline_tensor(const TensorDecl& decl, const TensorView* view, std::int64_t bytes) {
  RooflineTensor tensor;
  tensor.name = decl.name;
  tensor.present = bytes >= 0;
  if (!tensor.present || view == nullptr) return tensor;
  tensor.dtype = view->dtype;
  tensor.shape.assign(view->shape.begin(), view->shape.end());
  tensor.bytes = static_cast<std::uint64_t>(bytes);
  return tensor;
}

}  // namespace

RooflineCall Plan::roofline_call(const Instance& instance,
                                 const CallArgs& args,
                                 const Frame& frame) const {
  const Sizes sizes = tensor_sizes(instance, args, frame);
  RooflineCall call;
  call.op = decl_.name;
  for (std::size_t i = 0; i < decl_.params.size(); ++i)
    call.params.emplace_back(decl_.params[i].name, instance.params()[i]);
  call.indices = indices(instance, frame);
  for (std::uint32_t i = 0; i < decl_.construction_tensors.size(); ++i) {
    const auto& tensor = instance.tensors()[i];
    call.tensors.push_back(roofline_tensor(decl_.construction_tensors[i],
                                           tensor ? &tensor->view() : nullptr,
                                           sizes.bytes[data_.first_construction + i]));
  }
  for (std::uint32_t i = 0; i < decl_.inputs.size(); ++i) {
    const TensorView* view = args.inputs[i].single();
    RooflineTensor tensor =
        roofline_tensor(decl_.inputs[i], view, sizes.bytes[data_.first_input + i]);
    if (view != nullptr && data_.inputs[i].values && is_readable(args, *view))
      tensor.contents = elements_of(*view);
    call.tensors.push_back(std::move(tensor));
  }
  std::size_t from_lists = 0;
  for (std::uint32_t i = 0; i < decl_.outputs.size(); ++i) {
    const OutputSpec& spec = frame.outputs[i];
    const OutputSpec& one = spec.list_count > 0 ? frame.list_outputs[from_lists] : spec;
    from_lists += spec.list_count;
    const TensorView view(nullptr, one.dtype, one.shape);
    call.tensors.push_back(
        roofline_tensor(decl_.outputs[i], &view, sizes.bytes[data_.first_output + i]));
  }
  return call;
}

}  // namespace signature
}  // namespace tenon
