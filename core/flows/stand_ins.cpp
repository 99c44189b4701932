// Which stand-ins kernel types need, and the elements of their padding.
#include "flows/stand_ins.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace tenon {
namespace {

template <class Int>
void store_nearest(double value, std::byte* element) {
  using Limits = std::numeric_limits<Int>;
  Int nearest = 0;
  if (std::isinf(value)) {
    nearest = value < 0 ? Limits::min() : Limits::max();
  } else {
    nearest = static_cast<Int>(value);
  }
  std::memcpy(element, &nearest, sizeof nearest);
}

// A small float without infinities gets its largest finite value. Those formats are symmetric.
double finite_where_needed(DType dtype, double value) {
  if (!std::isinf(value)) return value;
  double largest = 0;
  switch (dtype) {
    case DType::kFloat8E4M3FN:
      largest = 448;
      break;
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3:
      largest = 240;
      break;
    case DType::kFloat8E5M2FNUZ:
      largest = 57344;
      break;
    default:
      return value;
  }
  return std::copysign(largest, value);
}

}  // namespace

DType KernelType::stored_as(DType dtype) const {
  const auto at = std::find_if(
      stored.begin(), stored.end(), [&](const auto& pair) { return pair.first == dtype; });
  return at == stored.end() ? dtype : at->second;
}

bool same_bytes(DType a, DType b) noexcept {
  const auto is_byte = [](DType d) { return d == DType::kBool || d == DType::kUInt8; };
  return a == b || (is_byte(a) && is_byte(b));
}

ArgSize size_of(std::span<const TensorView> tensors) {
  ArgSize size;
  for (const TensorView& tensor : tensors) {
    const Dims& shape = tensor.shape;
    if (!shape.empty()) size.innermost = std::gcd(size.innermost, shape[shape.size() - 1]);
    size.count = std::max(size.count, tensor.count());
  }
  return size;
}

StandIn stand_in_for(const KernelType& type, DType dtype, const ArgSize& size) {
  StandIn passed;
  passed.dtype = type.stored_as(dtype);
  passed.casts = !same_bytes(dtype, passed.dtype);
  passed.pads = size.innermost % type.alignment() != 0;
  return passed;
}

bool wide_once_padded(const KernelType& type, const ArgSize& size) {
  // Each row of `innermost` elements grows by less than one alignment.
  constexpr std::int64_t kMost = 0x7fffffff;
  const std::int64_t rows = size.innermost == 0 ? 0 : size.count / size.innermost;
  std::int64_t added = 0;
  std::int64_t count = 0;
  return __builtin_mul_overflow(rows, type.alignment() - 1, &added) ||
         __builtin_add_overflow(size.count, added, &count) || count > kMost;
}

std::optional<std::int64_t> padded_size(std::int64_t size, std::int64_t multiple) {
  std::int64_t up = 0;
  if (__builtin_add_overflow(size, multiple - 1, &up)) return std::nullopt;
  return up / multiple * multiple;
}

void store_pad(DType dtype, double value, std::byte* element) {
  std::memset(element, 0, kPadBytes);
  switch (dtype) {
    case DType::kUInt8:
      return store_nearest<std::uint8_t>(value, element);
    case DType::kInt8:
      return store_nearest<std::int8_t>(value, element);
    case DType::kInt16:
      return store_nearest<std::int16_t>(value, element);
    case DType::kInt32:
      return store_nearest<std::int32_t>(value, element);
    case DType::kInt64:
      return store_nearest<std::int64_t>(value, element);
    case DType::kUInt16:
      return store_nearest<std::uint16_t>(value, element);
    case DType::kUInt32:
      return store_nearest<std::uint32_t>(value, element);
    case DType::kUInt64:
      return store_nearest<std::uint64_t>(value, element);
    case DType::kBool:
      return store_nearest<std::uint8_t>(value > 0 ? 1 : 0, element);
    case DType::kComplex64: {
      const auto real = static_cast<float>(value);
      std::memcpy(element, &real, sizeof real);
      return;
    }
    case DType::kComplex128:
      std::memcpy(element, &value, sizeof value);
      return;
    default:
      store_from_double(dtype, element, finite_where_needed(dtype, value));
  }
}

}  // namespace tenon
