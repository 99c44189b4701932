// Build identities: turns what a kernel type's identity() returns into bytes, the same on every
// run.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tenon/plugin/values.hpp"

namespace tenon {
inline namespace sdk {
namespace detail {

/// Counts what it is given and writes it while it fits, so that one code path gives size and bytes.
class ByteWriter {
 public:
  ByteWriter(void* out, std::uint64_t capacity_bytes) noexcept
      : out_(static_cast<unsigned char*>(out)), capacity_bytes_(capacity_bytes) {}

  void put(const void* bytes, std::size_t size_bytes) noexcept {
    if (size_bytes != 0 && size_bytes_ + size_bytes <= capacity_bytes_) {
      std::memcpy(out_ + size_bytes_, bytes, size_bytes);
    }
    size_bytes_ += size_bytes;
  }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }

 private:
  unsigned char* out_;
  std::uint64_t capacity_bytes_;
  std::uint64_t size_bytes_ = 0;
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T, class = void>
struct IsTuple : std::false_type {};
template <class T>
struct IsTuple<T, std::void_t<decltype(std::tuple_size<T>::value)>> : std::true_type {};

template <class T, class = void>
struct IsSequence : std::false_type {};
template <class T>
struct IsSequence<T,
                  std::void_t<decltype(std::declval<const T&>().data()),
                              decltype(std::declval<const T&>().size())>> : std::true_type {};

/// Floats go by their bits with one NaN, so -0.0 and 0.0 differ and every NaN is the same.
inline void put_float(ByteWriter& out, double value) noexcept {
  std::uint64_t bits = 0x7ff8000000000000ull;
  if (value == value) std::memcpy(&bits, &value, sizeof(bits));
  out.put(&bits, sizeof(bits));
}

template <class T>
void put_identity(ByteWriter& out, const T& value) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    const std::uint8_t byte = value ? 1 : 0;
    out.put(&byte, 1);
  } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    const auto number = static_cast<std::int64_t>(value);
    out.put(&number, sizeof(number));
  } else if constexpr (std::is_floating_point_v<T>) {
    put_float(out, static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, ElementType>) {
    const std::uint32_t id = value.id();
    out.put(&id, sizeof(id));
  } else if constexpr (std::is_same_v<T, Number>) {
    put_identity(out, value.is_int());
    if (value.is_int()) {
      put_identity(out, value.as_int());
    } else {
      put_float(out, value.as_double());
    }
  } else if constexpr (IsOptional<T>::value) {
    put_identity(out, value.has_value());
    if (value) put_identity(out, *value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    const std::string_view text(value);
    put_identity(out, text.size());
    out.put(text.data(), text.size());
  } else if constexpr (IsSequence<T>::value) {  // before tuples: std::array is both
    put_identity(out, value.size());
    for (std::size_t i = 0; i < value.size(); ++i) put_identity(out, value.data()[i]);
  } else {
    static_assert(IsTuple<T>::value,
                  "identity(): return a tuple of numbers, bools, enums, dtypes, text, lists and "
                  "optionals of them");
    std::apply([&out](const auto&... items) { (put_identity(out, items), ...); }, value);
  }
}

/// Writes the whole identity, or nothing but its size if that exceeds the capacity.
template <class T>
void write_identity(const T& value,
                    void* bytes,
                    std::uint64_t capacity_bytes,
                    std::uint64_t* size_bytes) noexcept {
  ByteWriter counter(nullptr, 0);
  put_identity(counter, value);
  *size_bytes = counter.size_bytes();
  if (counter.size_bytes() > capacity_bytes) return;
  ByteWriter writer(bytes, capacity_bytes);
  put_identity(writer, value);
}

}  // namespace detail
}  // namespace sdk
}  // namespace tenon
