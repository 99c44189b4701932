// The dtype table and the conversions of small floats.
#include "tenon/core/dtype.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace tenon {
namespace {

constexpr tenon_dtype abi(std::uint32_t code, std::uint32_t bits) {
  return tenon_dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
}

// clang-format off
constexpr std::array<DTypeInfo, kDTypeCount> kInfos{{
    {"bool",            "bool",    8,   DTypeCategory::kBool,    abi(TENON_DTYPE_BOOL, 8)},
    {"uint8",           "u8",      8,   DTypeCategory::kInt,     abi(TENON_DTYPE_UINT, 8)},
    {"int8",            "i8",      8,   DTypeCategory::kInt,     abi(TENON_DTYPE_INT, 8)},
    {"int16",           "i16",     16,  DTypeCategory::kInt,     abi(TENON_DTYPE_INT, 16)},
    {"int32",           "i32",     32,  DTypeCategory::kInt,     abi(TENON_DTYPE_INT, 32)},
    {"int64",           "i64",     64,  DTypeCategory::kInt,     abi(TENON_DTYPE_INT, 64)},
    {"float16",         "f16",     16,  DTypeCategory::kFloat,   abi(TENON_DTYPE_FLOAT, 16)},
    {"bfloat16",        "bf16",    16,  DTypeCategory::kFloat,   abi(TENON_DTYPE_BFLOAT, 16)},
    {"float32",         "f32",     32,  DTypeCategory::kFloat,   abi(TENON_DTYPE_FLOAT, 32)},
    {"float64",         "f64",     64,  DTypeCategory::kFloat,   abi(TENON_DTYPE_FLOAT, 64)},
    {"float8_e4m3fn",   "f8e4m3",  8,   DTypeCategory::kFloat,   abi(TENON_DTYPE_FLOAT8_E4M3FN, 8)},
    {"float8_e5m2",     "f8e5m2",  8,   DTypeCategory::kFloat,   abi(TENON_DTYPE_FLOAT8_E5M2, 8)},
    {"float8_e4m3",     "float8_e4m3",     8, DTypeCategory::kFloat, abi(TENON_DTYPE_FLOAT8_E4M3, 8)},
    {"float8_e5m2fnuz", "float8_e5m2fnuz", 8, DTypeCategory::kFloat, abi(TENON_DTYPE_FLOAT8_E5M2FNUZ, 8)},
    {"float8_e4m3fnuz", "float8_e4m3fnuz", 8, DTypeCategory::kFloat, abi(TENON_DTYPE_FLOAT8_E4M3FNUZ, 8)},
    {"complex64",       "c64",     64,  DTypeCategory::kComplex, abi(TENON_DTYPE_COMPLEX, 64)},
    {"complex128",      "c128",    128, DTypeCategory::kComplex, abi(TENON_DTYPE_COMPLEX, 128)},
    {"uint16",          "u16",     16,  DTypeCategory::kInt,     abi(TENON_DTYPE_UINT, 16)},
    {"uint32",          "u32",     32,  DTypeCategory::kInt,     abi(TENON_DTYPE_UINT, 32)},
    {"uint64",          "u64",     64,  DTypeCategory::kInt,     abi(TENON_DTYPE_UINT, 64)},
    {"float8_e8m0fnu",  "float8_e8m0fnu",  8, DTypeCategory::kFloat, abi(TENON_DTYPE_FLOAT8_E8M0FNU, 8)},
    {"float4_e2m1fn_x2", "float4_e2m1fn_x2", 8, DTypeCategory::kFloat, abi(TENON_DTYPE_UINT, 8)},
}};
constexpr std::array<DType, kDTypeCount> kAll = [] {
  std::array<DType, kDTypeCount> all{};
  for (std::size_t i = 0; i < kDTypeCount; ++i) all[i] = static_cast<DType>(i);
  return all;
}();
// clang-format on

// How a small binary float lays out its bits.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum class Specials : std::uint8_t {
    kIeee,          // all-ones exponent: infinity and NaN
    kFiniteNan,     // "fn": no infinity, all ones is NaN
    kUnsignedZero,  // "fnuz": no infinity, no -0; the pattern of -0 is NaN
  } specials;
};

constexpr FloatFormat kFloat16{5, 10, 15, FloatFormat::Specials::kIeee};
constexpr FloatFormat kBFloat16{8, 7, 127, FloatFormat::Specials::kIeee};
constexpr FloatFormat kE4M3FN{4, 3, 7, FloatFormat::Specials::kFiniteNan};
constexpr FloatFormat kE5M2{5, 2, 15, FloatFormat::Specials::kIeee};
constexpr FloatFormat kE4M3{4, 3, 7, FloatFormat::Specials::kIeee};
constexpr FloatFormat kE5M2FNUZ{5, 2, 16, FloatFormat::Specials::kUnsignedZero};
constexpr FloatFormat kE4M3FNUZ{4, 3, 8, FloatFormat::Specials::kUnsignedZero};

const FloatFormat& float8_format(DType dtype) noexcept {
  switch (dtype) {
    case DType::kFloat8E5M2:
      return kE5M2;
    case DType::kFloat8E4M3:
      return kE4M3;
    case DType::kFloat8E5M2FNUZ:
      return kE5M2FNUZ;
    case DType::kFloat8E4M3FNUZ:
      return kE4M3FNUZ;
    default:
      return kE4M3FN;
  }
}

std::uint32_t nan_bits(const FloatFormat& f, bool negative) noexcept {
  const int width = f.exponent_bits + f.mantissa_bits;
  const std::uint32_t sign = negative ? 1u << width : 0u;
  switch (f.specials) {
    case FloatFormat::Specials::kIeee:
      return sign | (((1u << f.exponent_bits) - 1u) << f.mantissa_bits) |
             (1u << (f.mantissa_bits - 1));
    case FloatFormat::Specials::kFiniteNan:
      return sign | ((1u << width) - 1u);
    case FloatFormat::Specials::kUnsignedZero:
      break;
  }
  return 1u << width;
}

// The pattern after the largest finite one.
std::uint32_t overflow_bits(const FloatFormat& f, bool negative) noexcept {
  if (f.specials != FloatFormat::Specials::kIeee) return nan_bits(f, negative);
  const int width = f.exponent_bits + f.mantissa_bits;
  return (negative ? 1u << width : 0u) | (((1u << f.exponent_bits) - 1u) << f.mantissa_bits);
}

std::uint32_t largest_finite_bits(const FloatFormat& f) noexcept {
  const std::uint32_t all = (1u << (f.exponent_bits + f.mantissa_bits)) - 1u;
  switch (f.specials) {
    case FloatFormat::Specials::kIeee:
      return (((1u << f.exponent_bits) - 1u) << f.mantissa_bits) - 1u;
    case FloatFormat::Specials::kFiniteNan:
      return all - 1u;
    case FloatFormat::Specials::kUnsignedZero:
      break;
  }
  return all;
}

// Rounds once, to nearest, ties to even, from the 53 bits of a double.
std::uint32_t encode(const FloatFormat& f, double value) noexcept {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = (bits >> 63) != 0;
  const int width = f.exponent_bits + f.mantissa_bits;
  if (std::isnan(value)) return nan_bits(f, negative);
  if (std::isinf(value)) return overflow_bits(f, negative);
  const bool unsigned_zero = f.specials == FloatFormat::Specials::kUnsignedZero;
  const std::uint32_t sign = negative ? 1u << width : 0u;
  if (value == 0.0) return unsigned_zero ? 0u : sign;

  int exponent = 0;
  const double fraction = std::frexp(
      std::fabs(value), &exponent);  // value = fraction * 2^exponent, 0.5 <= fraction < 1
  const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));  // 53 bits, exact
  const int unbiased = exponent - 1;
  const int lowest = 1 - f.bias;  // exponent of the smallest normal number
  // Bits of the significand that fall away; subnormals lose more.
  int drop = 52 - f.mantissa_bits;
  if (unbiased < lowest) drop += lowest - unbiased;
  if (drop > 54) return unsigned_zero ? 0u : sign;  // below half of the smallest subnormal
  std::uint64_t kept = significand >> drop;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << drop) - 1);
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  if (rest > half || (rest == half && (kept & 1u) != 0)) ++kept;
  // A carry moves into the exponent by itself.
  std::uint64_t magnitude = kept;
  if (unbiased >= lowest) {
    magnitude += static_cast<std::uint64_t>(unbiased - lowest) << f.mantissa_bits;
  }
  if (magnitude > largest_finite_bits(f)) return overflow_bits(f, negative);
  if (magnitude == 0 && unsigned_zero) return 0u;
  return sign | static_cast<std::uint32_t>(magnitude);
}

double decode(const FloatFormat& f, std::uint32_t bits) noexcept {
  const int width = f.exponent_bits + f.mantissa_bits;
  const bool negative = ((bits >> width) & 1u) != 0;
  const std::uint32_t magnitude = bits & ((1u << width) - 1u);
  const std::uint32_t exponent = magnitude >> f.mantissa_bits;
  const std::uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1u);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (f.specials == FloatFormat::Specials::kUnsignedZero && negative && magnitude == 0) return kNan;
  if (magnitude > largest_finite_bits(f)) {
    if (f.specials != FloatFormat::Specials::kIeee || mantissa != 0) return kNan;
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  double value = 0;
  if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (1u << f.mantissa_bits)),
                       static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

// float8_e8m0fnu: an unsigned power of two, 255 is NaN (OCP Microscaling Formats 1.0).
std::uint8_t e8m0_from(double value) noexcept {
  if (!(value > 0) || std::isinf(value)) return value == 0 ? 0 : 255;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  int biased = exponent - 1 + 127;
  const double doubled =
      fraction * 2;  // in [1, 2): half way is 1.5; the even neighbour is the even exponent
  if (doubled > 1.5 || (doubled == 1.5 && (biased & 1) != 0)) ++biased;
  if (biased < 0) return 0;
  return biased > 254 ? 255 : static_cast<std::uint8_t>(biased);
}

template <class T>
T read(const void* p) noexcept {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void write(void* p, T value) noexcept {
  std::memcpy(p, &value, sizeof value);
}

// Out of range saturates, NaN gives 0 (a rule of this project: see docs).
template <class T>
T saturate(double value) noexcept {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

}  // namespace

const DTypeInfo& info_of(DType dtype) noexcept { return kInfos[static_cast<std::size_t>(dtype)]; }

std::string_view name_of(DTypeCategory category) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"bool", "int", "float", "complex"};
  return kNames[static_cast<std::size_t>(category)];
}

std::optional<DType> dtype_from_name(std::string_view name, bool allow_short) noexcept {
  for (DType d : kAll) {
    if (info_of(d).name == name || (allow_short && info_of(d).short_name == name)) return d;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_abi(tenon_dtype dtype) noexcept {
  for (DType d : kAll) {
    const tenon_dtype a = info_of(d).abi;
    if (a.code == dtype.code && a.bits == dtype.bits && dtype.lanes == 1)
      return d;  // uint8 comes before its carriers
  }
  return std::nullopt;
}

std::span<const DType> all_dtypes() noexcept { return kAll; }

std::uint16_t float16_from(double value) noexcept {
  return static_cast<std::uint16_t>(encode(kFloat16, value));
}
double float16_to(std::uint16_t bits) noexcept { return decode(kFloat16, bits); }
std::uint16_t bfloat16_from(double value) noexcept {
  return static_cast<std::uint16_t>(encode(kBFloat16, value));
}
double bfloat16_to(std::uint16_t bits) noexcept { return decode(kBFloat16, bits); }

std::uint8_t float8_from(DType format, double value) noexcept {
  if (format == DType::kFloat8E8M0FNU) return e8m0_from(value);
  return static_cast<std::uint8_t>(encode(float8_format(format), value));
}
double float8_to(DType format, std::uint8_t bits) noexcept {
  if (format == DType::kFloat8E8M0FNU) {
    return bits == 255 ? std::numeric_limits<double>::quiet_NaN()
                       : std::ldexp(1.0, static_cast<int>(bits) - 127);
  }
  return decode(float8_format(format), bits);
}

double load_as_double(DType dtype, const void* p) noexcept {
  switch (dtype) {
    case DType::kBool:
      return read<std::uint8_t>(p) != 0 ? 1.0 : 0.0;
    case DType::kUInt8:
    case DType::kFloat4E2M1FNx2:
      return read<std::uint8_t>(p);
    case DType::kInt8:
      return read<std::int8_t>(p);
    case DType::kInt16:
      return read<std::int16_t>(p);
    case DType::kInt32:
      return read<std::int32_t>(p);
    case DType::kInt64:
      return static_cast<double>(read<std::int64_t>(p));
    case DType::kUInt16:
      return read<std::uint16_t>(p);
    case DType::kUInt32:
      return read<std::uint32_t>(p);
    case DType::kUInt64:
      return static_cast<double>(read<std::uint64_t>(p));
    case DType::kFloat16:
      return float16_to(read<std::uint16_t>(p));
    case DType::kBFloat16:
      return bfloat16_to(read<std::uint16_t>(p));
    case DType::kFloat32:
    case DType::kComplex64:
      return static_cast<double>(read<float>(p));
    case DType::kFloat64:
    case DType::kComplex128:
      return read<double>(p);
    default:
      return float8_to(dtype, read<std::uint8_t>(p));
  }
}

void store_from_double(DType dtype, void* p, double value) noexcept {
  switch (dtype) {
    case DType::kBool:
      return write<std::uint8_t>(p, value != 0 ? 1 : 0);
    case DType::kUInt8:
    case DType::kFloat4E2M1FNx2:
      return write(p, saturate<std::uint8_t>(value));
    case DType::kInt8:
      return write(p, saturate<std::int8_t>(value));
    case DType::kInt16:
      return write(p, saturate<std::int16_t>(value));
    case DType::kInt32:
      return write(p, saturate<std::int32_t>(value));
    case DType::kInt64:
      return write(p, saturate<std::int64_t>(value));
    case DType::kUInt16:
      return write(p, saturate<std::uint16_t>(value));
    case DType::kUInt32:
      return write(p, saturate<std::uint32_t>(value));
    case DType::kUInt64:
      return write(p, saturate<std::uint64_t>(value));
    case DType::kFloat16:
      return write(p, float16_from(value));
    case DType::kBFloat16:
      return write(p, bfloat16_from(value));
    case DType::kFloat32:
      return write(p, static_cast<float>(value));
    case DType::kFloat64:
      return write(p, value);
    case DType::kComplex64:
      return write(p, std::complex<float>(static_cast<float>(value), 0.0f));
    case DType::kComplex128:
      return write(p, std::complex<double>(value, 0.0));
    default:
      return write(p, float8_from(dtype, value));
  }
}

}  // namespace tenon
