// Detection of the members that a plugin's class may leave out, and text arrays as they cross.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include "tenon/plugin/values.hpp"

// True if T has a member of that name.
#define TENON_DETAIL_MEMBER(member)         \
  template <class T, class = void>          \
  struct Has_##member : std::false_type {}; \
  template <class T>                        \
  struct Has_##member<T, std::void_t<decltype(&T::member)>> : std::true_type {}

namespace tenon {
inline namespace sdk {
namespace detail {

/// One text, or an array of them, as an array of tenon_str.
template <class T>
constexpr auto str_array(const T& texts) noexcept {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::array<tenon_str, 1>{to_str(texts)};
  } else {
    std::array<tenon_str, std::tuple_size<T>::value> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_str(texts[i]);
    return out;
  }
}

}  // namespace detail
}  // namespace sdk
}  // namespace tenon
