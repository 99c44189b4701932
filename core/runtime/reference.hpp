// The reference on wide data, of one kernel or of the stages of a composition.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "runtime/instance.hpp"

namespace tenon {

/// A tensor between two stages, and its values before they were rounded to its dtype: what the next
/// stage's reference works on.
struct WideValue {
  Tensor rounded;
  Tensor wide;
};

/// What Op::call_reference does, for an instance. `known`: values of inputs that were not rounded.
Result<void> run_reference(Op::Instance& instance,
                           const CallArgs& args,
                           std::vector<Tensor>& results,
                           std::span<const WideValue> known = {});

/// The references of a composite op's stages, one after the other. `state` holds the op's outputs.
Result<void> run_composed_reference(Op::Instance& instance,
                                    ThreadState& state,
                                    const CallArgs& args,
                                    Device device,
                                    std::vector<Tensor>& results);

namespace detail {

[[nodiscard]] inline bool is_floating(DType dtype) {
  return info_of(dtype).category == DTypeCategory::kFloat;
}

/// Visits the elements of a view in row-major order: body(byte pointer, flat index).
template <class Body>
void for_each_element(const TensorView& view, Body&& body) {
  const std::int64_t count = view.count();
  if (count == 0) return;
  const auto size = static_cast<std::int64_t>(size_bytes_of(view.dtype));
  Dims index(view.shape);
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = 0;
  std::byte* at = view.first();
  for (std::int64_t flat = 0; flat < count; ++flat) {
    body(at, flat);
    for (std::size_t i = index.size(); i-- > 0;) {
      at += view.strides[i] * size;
      if (++index[i] < view.shape[i]) break;
      at -= view.strides[i] * size * view.shape[i];
      index[i] = 0;
    }
  }
}

}  // namespace detail
}  // namespace tenon
