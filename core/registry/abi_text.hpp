// Reading what plugins hand over: strings, structs of another size, reasons.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "tenon/core/error.hpp"
#include "tenon/core/value.hpp"
#include "tenon/plugin.h"

namespace tenon::detail {

[[nodiscard]] inline std::string_view view_of(tenon_str text) noexcept {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size_bytes);
}
[[nodiscard]] inline tenon_str str_of(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

/// Whether the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] bool valid_utf8(std::string_view text) noexcept;

/// A plugin's text as one line that forges none of ours: control characters, line ends among them,
/// become `\x0a`; what is no UTF-8 is replaced.
[[nodiscard]] std::string clean_text(std::string_view text);

/// Sizes above this are no struct of ours.
inline constexpr std::uint64_t kMaxStructBytes = std::uint64_t{64} * 1024;

/// A struct of a plugin's size as one of ours: what it does not have is zero, what we do not know
/// is left out. `struct_size` becomes the number of bytes that both know.
template <class T>
[[nodiscard]] T normalised(const T* theirs, std::uint64_t their_bytes) noexcept {
  T ours{};
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(their_bytes, sizeof(T)));
  std::memcpy(&ours, theirs, bytes);
  ours.struct_size = bytes;
  return ours;
}

/// A zeroed reason to hand to a plugin.
[[nodiscard]] inline tenon_reason empty_reason() noexcept {
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  reason.arg_index = -1;
  return reason;
}

/// The text of a reason, cut at its array's end, as clean_text makes it.
[[nodiscard]] std::string text_of(const tenon_reason& reason);
/// "DEVICE: the driver is old": a status, and the text beside it where there is one.
[[nodiscard]] std::string failure_text(tenon_status status, const tenon_reason& reason);
[[nodiscard]] std::string attribute_of(const tenon_reason& reason);
/// A value of a plugin or call as ours. Bounded; unknown kinds give none.
[[nodiscard]] Value value_of(const tenon_value& value, int depth = 0);

}  // namespace tenon::detail
