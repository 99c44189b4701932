// SplitMix64 by position, and the loops that write it into views.
#include "fill.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include "elements.hpp"
#include "tenon/core/contract.hpp"

namespace tenon::cli {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t kDrawsPerNormal = 12;
constexpr double kIntegerScale = 10;
constexpr double kIntegerRange = 100;

std::uint64_t mixed(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// How many integers from 0 on the dtype holds without a gap.
std::uint64_t exact_integers(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kFloat8E8M0FNU:
      return 2;
    case DType::kInt8:
      return std::uint64_t{1} << 7;
    case DType::kUInt8:
    case DType::kFloat4E2M1FNx2:
    case DType::kBFloat16:
      return std::uint64_t{1} << 8;
    case DType::kInt16:
      return std::uint64_t{1} << 15;
    case DType::kUInt16:
      return std::uint64_t{1} << 16;
    case DType::kFloat16:
      return std::uint64_t{1} << 11;
    case DType::kFloat32:
    case DType::kComplex64:
      return std::uint64_t{1} << 24;
    case DType::kInt32:
      return std::uint64_t{1} << 31;
    case DType::kUInt32:
      return std::uint64_t{1} << 32;
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3:
    case DType::kFloat8E4M3FNUZ:
      return std::uint64_t{1} << 4;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return std::uint64_t{1} << 3;
    default:
      return std::uint64_t{1} << 53;  // 64-bit integers too: elements are written as doubles
  }
}

bool is_signed(DType dtype) { return info_of(dtype).abi.code == TENON_DTYPE_INT; }

double random_value(DType dtype, FillKind kind, std::uint64_t stream, std::uint64_t index) {
  if (dtype == DType::kFloat4E2M1FNx2) return static_cast<double>(random_bits(stream, index) >> 56);
  const DTypeCategory category = info_of(dtype).category;
  if (category == DTypeCategory::kBool) return random_uniform(stream, index) < 0.5 ? 0 : 1;
  if (category == DTypeCategory::kInt) {
    if (kind == FillKind::kUniform)
      return std::floor(random_uniform(stream, index) * kIntegerRange);
    const double value = std::nearbyint(random_normal(stream, index) * kIntegerScale);
    return is_signed(dtype) ? value : std::fabs(value);
  }
  return kind == FillKind::kUniform ? random_uniform(stream, index) : random_normal(stream, index);
}

/// A complex dtype as its parts: the dtype of one, and their number.
struct Parts {
  DType dtype;
  std::size_t count;
};
Parts parts_of(DType dtype) {
  if (dtype == DType::kComplex64) return {DType::kFloat32, 2};
  if (dtype == DType::kComplex128) return {DType::kFloat64, 2};
  return {dtype, 1};
}

void write_element(
    std::byte* element, DType dtype, const Fill& fill, std::uint64_t stream, std::uint64_t index) {
  switch (fill.kind) {
    case FillKind::kZeros:
      std::memset(element, 0, size_bytes_of(dtype));
      return;
    case FillKind::kConst:
      if (fill.whole) {
        std::memcpy(element, &fill.whole->bits, sizeof fill.whole->bits);
        return;
      }
      store_from_double(dtype, element, fill.value);
      return;
    case FillKind::kArange:
      store_from_double(dtype, element, static_cast<double>(index % exact_integers(dtype)));
      return;
    default:
      break;
  }
  const Parts parts = parts_of(dtype);
  for (std::size_t part = 0; part < parts.count; ++part) {
    store_from_double(parts.dtype,
                      element + part * size_bytes_of(parts.dtype),
                      random_value(parts.dtype, fill.kind, stream, index * parts.count + part));
  }
}

}  // namespace

std::uint64_t random_bits(std::uint64_t stream, std::uint64_t index) noexcept {
  return mixed(stream + (index + 1) * kGolden);
}

double random_uniform(std::uint64_t stream, std::uint64_t index) noexcept {
  return static_cast<double>(random_bits(stream, index) >> 11) * 0x1p-53;
}

double random_normal(std::uint64_t stream, std::uint64_t index) noexcept {
  double sum = 0;
  for (std::uint64_t draw = 0; draw < kDrawsPerNormal; ++draw) {
    sum += random_uniform(stream, index * kDrawsPerNormal + draw);
  }
  return sum - static_cast<double>(kDrawsPerNormal) / 2;
}

std::uint64_t stream_of(std::uint64_t seed, std::string_view name) noexcept {
  return mixed(mixed(seed + kGolden) ^ fnv1a64(name));
}

void fill_view(const TensorView& view, const Fill& fill, std::uint64_t stream) {
  // Elements along an expanded axis are one in memory, which has what the last of them would get;
  // it is written once, however many they are.
  TensorView once = view;
  Dims steps = view.shape;
  std::int64_t step = 1;
  std::int64_t first = 0;
  for (std::size_t axis = view.shape.size(); axis-- > 0;) {
    steps[axis] = step;
    step *= view.shape[axis];
    if (view.strides[axis] != 0 || view.shape[axis] <= 1) continue;
    first += (view.shape[axis] - 1) * steps[axis];
    once.shape[axis] = 1;
  }
  for_each_element(once, [&](std::byte* element, std::int64_t at) {
    std::int64_t index = at;
    if (first != 0) {
      index = first;
      const Dims indices = indices_of(at, once.shape);
      for (std::size_t axis = 0; axis < steps.size(); ++axis) index += indices[axis] * steps[axis];
    }
    write_element(element, view.dtype, fill, stream, static_cast<std::uint64_t>(index));
  });
}

Result<Tensor> make_tensor(const TensorSource& source) {
  auto flat = Tensor::host(source.spec.dtype, Dims{source.storage_elements});
  if (!flat) return fail(std::move(flat).error());
  const std::size_t element_size = size_bytes_of(source.spec.dtype);
  TensorView view(
      flat->storage()->memory(), source.spec.dtype, source.spec.shape, source.spec.strides);
  view.byte_offset = static_cast<std::uint64_t>(source.offset_elements) * element_size;
  const bool has_gaps = source.storage_elements != view.count();
  if (has_gaps) {
    std::memset(view.data, 0xff, static_cast<std::size_t>(source.storage_elements) * element_size);
  }
  fill_view(view, source.fill, stream_of(source.fill.seed, source.name));
  return Tensor(flat->storage(), view);
}

}  // namespace tenon::cli
