// Element types: names, sizes, categories, DLPack numbers, conversions of the small floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tenon/plugin.h"

namespace tenon {

/// Every element type that the manifest language names. Values are dense: they index tables.
enum class DType : std::uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kFloat8E4M3FN,
  kFloat8E5M2,
  kFloat8E4M3,
  kFloat8E5M2FNUZ,
  kFloat8E4M3FNUZ,
  kComplex64,
  kComplex128,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat8E8M0FNU,
  kFloat4E2M1FNx2,  ///< two four-bit values in one byte: the carrier's size counts
};
inline constexpr std::size_t kDTypeCount = 22;

/// What the manifest calls the category of a dtype.
enum class DTypeCategory : std::uint8_t { kBool, kInt, kFloat, kComplex };

/// One row of the dtype registry.
struct DTypeInfo {
  std::string_view name;  ///< "bfloat16", as manifests write it
  std::string_view
      short_name;  ///< "bf16", as the command line writes it; the name where there is none
  std::uint32_t bits;
  DTypeCategory category;
  tenon_dtype abi;  ///< as it crosses to plugins
};

/// Look-ups in the registry; every DType has a row.
[[nodiscard]] const DTypeInfo& info_of(DType dtype) noexcept;
[[nodiscard]] inline std::string_view name_of(DType dtype) noexcept { return info_of(dtype).name; }
[[nodiscard]] inline std::size_t size_bytes_of(DType dtype) noexcept {
  return info_of(dtype).bits / 8;
}
[[nodiscard]] inline tenon_dtype to_abi(DType dtype) noexcept { return info_of(dtype).abi; }
[[nodiscard]] std::string_view name_of(DTypeCategory category) noexcept;

/// By the manifest's name ("bfloat16"); with `allow_short` also by the command line's ("bf16").
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name,
                                                   bool allow_short = false) noexcept;
/// By DLPack's numbers; nothing for lanes other than 1 or an unknown code.
[[nodiscard]] std::optional<DType> dtype_from_abi(tenon_dtype dtype) noexcept;
/// All of them, in enumeration order.
[[nodiscard]] std::span<const DType> all_dtypes() noexcept;

/// A set of dtypes as a bit mask.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (DType d : dtypes) insert(d);
  }
  constexpr void insert(DType d) { bits_ |= 1u << static_cast<unsigned>(d); }
  [[nodiscard]] constexpr bool contains(DType d) const {
    return (bits_ >> static_cast<unsigned>(d)) & 1u;
  }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }
  friend constexpr bool operator==(DTypeSet, DTypeSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

/// Small floats as bit patterns. `from` rounds a double to nearest, ties to even, in one step; out
/// of range gives infinity where the format has one (e4m3fn: NaN; fnuz formats: NaN; e8m0: NaN
/// below 0). `to` is exact. Source: IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0; OCP
/// Microscaling Formats 1.0 (e8m0).
[[nodiscard]] std::uint16_t float16_from(double value) noexcept;
[[nodiscard]] double float16_to(std::uint16_t bits) noexcept;
[[nodiscard]] std::uint16_t bfloat16_from(double value) noexcept;
[[nodiscard]] double bfloat16_to(std::uint16_t bits) noexcept;
[[nodiscard]] std::uint8_t float8_from(DType format, double value) noexcept;
[[nodiscard]] double float8_to(DType format, std::uint8_t bits) noexcept;

/// Reads or writes one element of any real dtype as a double (ints beyond 2^53 round). Complex: the
/// real part.
[[nodiscard]] double load_as_double(DType dtype, const void* element) noexcept;
void store_from_double(DType dtype, void* element, double value) noexcept;

}  // namespace tenon
