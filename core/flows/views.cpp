// Reshapes and broadcasts that need no copy.
#include "tenon/core/flow.hpp"

namespace tenon {

bool Flow::flow_values(const FlowContext& /*context*/, std::span<tenon_value> values) const {
  return values.empty();
}

bool reshape_view(const TensorView& tensor, std::span<const std::int64_t> shape, TensorView& view) {
  const auto count = element_count(shape);
  if (!count || *count != tensor.count() || shape.size() > kMaxRank) return false;
  view.data = tensor.data;
  view.dtype = tensor.dtype;
  view.device = tensor.device;
  view.byte_offset = tensor.byte_offset;
  view.shape = Dims(shape);
  if (*count == 0) {
    view.strides = dense_strides(shape);
    return true;
  }
  view.strides.resize(shape.size());
  // Walk both shapes from the back: each run of the tensor's axes that is contiguous among itself
  // may be split freely.
  std::size_t at = tensor.shape.size();
  std::size_t to = shape.size();
  while (at > 0) {
    if (tensor.shape[at - 1] == 1) {
      --at;
      continue;
    }
    const std::int64_t step = tensor.strides[at - 1];
    std::int64_t run = tensor.shape[at - 1];
    std::int64_t next = step * run;
    --at;
    while (at > 0 && (tensor.shape[at - 1] == 1 || tensor.strides[at - 1] == next)) {
      if (tensor.shape[at - 1] != 1) {
        run *= tensor.shape[at - 1];
        next = step * run;
      }
      --at;
    }
    std::int64_t filled = 1;
    while (to > 0 && (filled < run || shape[to - 1] == 1)) {
      if (shape[to - 1] == 0 || run % (filled * shape[to - 1]) != 0) return false;
      view.strides[to - 1] = step * filled;
      filled *= shape[to - 1];
      --to;
    }
    if (filled != run) return false;
  }
  while (to > 0) view.strides[--to] = 1;  // axes of size 1 in front
  return true;
}

bool expand_view(const TensorView& tensor, std::span<const std::int64_t> shape, TensorView& view) {
  const std::size_t rank = shape.size();
  const std::size_t own = tensor.shape.size();
  if (own > rank || rank > kMaxRank) return false;
  view.data = tensor.data;
  view.dtype = tensor.dtype;
  view.device = tensor.device;
  view.byte_offset = tensor.byte_offset;
  view.shape = Dims(shape);
  view.strides.resize(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (i < rank - own) {
      view.strides[i] = 0;
      continue;
    }
    const std::size_t j = i - (rank - own);
    if (tensor.shape[j] == shape[i]) {
      view.strides[i] = tensor.strides[j];
    } else if (tensor.shape[j] == 1) {
      view.strides[i] = 0;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace tenon
