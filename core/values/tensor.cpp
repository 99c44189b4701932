// Shapes, views and their overlap, owned host tensors.
#include "tenon/core/tensor.hpp"

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "values/tensor_bytes.hpp"

namespace tenon {

std::string Dims::to_string() const {
  std::string text = "[";
  for (std::size_t i = 0; i < rank_; ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(values_[i]);
  }
  return text + "]";
}

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) noexcept {
  std::int64_t count = 1;
  for (std::int64_t size : shape) {
    if (size == 0) return 0;
  }
  for (std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

Dims dense_strides(std::span<const std::int64_t> shape) noexcept {
  Dims strides;
  strides.resize(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

std::string TensorSpec::to_string() const {
  return std::string(name_of(dtype)) + shape.to_string();
}

bool TensorView::is_dense() const noexcept {
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
  }
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

AddressRange address_range(const TensorView& view) noexcept {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return {};
    const std::int64_t reach = (view.shape[i] - 1) * view.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<std::int64_t>(size_bytes_of(view.dtype));
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.first()));
  return {static_cast<std::uintptr_t>(first + low * size),
          static_cast<std::uintptr_t>(first + (high + 1) * size)};
}

namespace {

struct Axis {
  std::int64_t stride;
  std::int64_t size;
};

// Axes above size 1, strides positive, by rising stride. Returns the count.
std::size_t sorted_axes(const TensorView& view, std::array<Axis, kMaxRank>& axes) noexcept {
  std::size_t n = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] <= 1) continue;
    const std::int64_t stride = view.strides[i] < 0 ? -view.strides[i] : view.strides[i];
    std::size_t at = n++;
    while (at > 0 && axes[at - 1].stride > stride) {
      axes[at] = axes[at - 1];
      --at;
    }
    axes[at] = {stride, view.shape[i]};
  }
  return n;
}

}  // namespace

bool overlaps_itself(const TensorView& view) noexcept {
  if (view.is_dense()) return false;
  std::array<Axis, kMaxRank> axes;
  const std::size_t n = sorted_axes(view, axes);
  std::int64_t reach = 0;  // of the faster axes together
  for (std::size_t i = 0; i < n; ++i) {
    if (axes[i].stride <= reach) return true;
    reach += (axes[i].size - 1) * axes[i].stride;
  }
  return false;
}

namespace {

// Whether |rest| = sum(k_i * stride_i) with |k_i| < size_i over the n fastest axes. Each stride
// exceeds the reach of the faster ones, so at most two k_i can be right at each level.
bool reachable(std::int64_t rest, const std::array<Axis, kMaxRank>& axes, std::size_t n) noexcept {
  if (n == 0) return rest == 0;
  std::int64_t faster = 0;
  for (std::size_t j = 0; j + 1 < n; ++j) faster += (axes[j].size - 1) * axes[j].stride;
  const auto [stride, size] = axes[n - 1];
  const std::int64_t floor = rest / stride - (rest % stride < 0 ? 1 : 0);
  for (std::int64_t k = floor; k <= floor + 1; ++k) {
    const std::int64_t left = rest - k * stride;
    if (std::llabs(k) < size && std::llabs(left) <= faster && reachable(left, axes, n - 1))
      return true;
  }
  return false;
}

// Two views of one layout that interleave, such as the even and the odd columns of one matrix.
bool interleave_apart(const TensorView& a, const TensorView& b) noexcept {
  const auto size = static_cast<std::int64_t>(size_bytes_of(a.dtype));
  if (a.dtype != b.dtype || !(a.shape == b.shape) || overlaps_itself(a)) return false;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] > 1 && (a.strides[i] != b.strides[i] || a.strides[i] <= 0)) return false;
  }
  const std::int64_t distance_bytes =
      reinterpret_cast<std::intptr_t>(b.first()) - reinterpret_cast<std::intptr_t>(a.first());
  if (distance_bytes % size != 0) return false;  // elements straddle each other
  std::array<Axis, kMaxRank> axes;
  const std::size_t n = sorted_axes(a, axes);
  return !reachable(distance_bytes / size, axes, n);
}

}  // namespace

bool disjoint(const TensorView& a, const TensorView& b) noexcept {
  if (!(a.device == b.device)) return true;
  const AddressRange ra = address_range(a);
  const AddressRange rb = address_range(b);
  if (ra.low == ra.high || rb.low == rb.high) return true;
  if (ra.high <= rb.low || rb.high <= ra.low) return true;
  return interleave_apart(a, b);
}

bool same_view(const TensorView& a, const TensorView& b) noexcept {
  if (a.first() != b.first() || a.dtype != b.dtype || !(a.device == b.device) ||
      !(a.shape == b.shape))
    return false;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

Result<std::size_t> detail::dense_bytes(DType dtype, const Dims& shape) {
  if (!can_be_addressed(dtype, shape)) {
    return fail(ErrorCode::kOutOfMemory,
                "a tensor of shape " + shape.to_string() + " has more bytes than can be addressed");
  }
  return static_cast<std::size_t>(element_count(shape).value_or(0)) * size_bytes_of(dtype);
}

Result<Tensor> Tensor::host(DType dtype, const Dims& shape) {
  std::size_t bytes = 0;
  TENON_TRY_ASSIGN(bytes, detail::dense_bytes(dtype, shape));
  constexpr std::size_t kAlign = 256;
  const std::size_t size = (bytes + kAlign - 1) / kAlign * kAlign;
  void* memory = std::aligned_alloc(kAlign, size == 0 ? kAlign : size);
  if (memory == nullptr) {
    return fail(ErrorCode::kOutOfMemory, "no host memory for " + std::to_string(size) + " bytes");
  }
  std::memset(memory, 0, size);
  auto storage =
      std::make_shared<Storage>(memory, size, Device{}, [](void* p, std::size_t) { std::free(p); });
  return Tensor(std::move(storage), TensorView(memory, dtype, shape));
}

}  // namespace tenon
