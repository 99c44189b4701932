// One pass over UTF-8; what is let through is copied in runs.
#include "tenon/loader/printable.hpp"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace tenon::loader {
namespace {

/// A character and the bytes that it takes; no bytes where it is no UTF-8.
struct Decoded {
  std::uint32_t code = 0;
  std::size_t size_bytes = 0;
};

std::uint32_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

std::size_t length_by(std::uint32_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

Decoded decode(std::string_view text) {
  const std::uint32_t lead = byte_at(text, 0);
  const std::size_t length = length_by(lead);
  if (length == 0 || length > text.size()) return {};
  if (length == 1) return {lead, 1};
  std::uint32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const std::uint32_t next = byte_at(text, i);
    if ((next & 0xc0u) != 0x80u) return {};
    code = code << 6 | (next & 0x3fu);
  }
  constexpr std::uint32_t kFirstOfThree = 0x800;
  constexpr std::uint32_t kFirstOfFour = 0x10000;
  const bool overlong =
      (length == 3 && code < kFirstOfThree) || (length == 4 && code < kFirstOfFour);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (overlong || surrogate || code > 0x10ffff) return {};
  return {code, length};
}

bool turns_direction(std::uint32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = decode(text);
    if (next.size_bytes == 0) {
      out += fmt::format("\\x{:02x}", byte_at(text, 0));
      text.remove_prefix(1);
      continue;
    }
    const bool is_c0 = next.code < 0x20 && next.code != '\n' && next.code != '\t';
    const bool is_c1 = next.code >= 0x7f && next.code < 0xa0;
    if (is_c0) {
      out += fmt::format("\\x{:02x}", next.code);
    } else if (is_c1 || turns_direction(next.code)) {
      out += fmt::format("\\u{:04x}", next.code);
    } else {
      out += text.substr(0, next.size_bytes);
    }
    text.remove_prefix(next.size_bytes);
  }
  return out;
}

std::string printable_line(std::string_view text) {
  std::string line;
  for (const char c : printable(text)) {
    if (c == '\n') {
      line += "\\x0a";
    } else if (c == '\t') {
      line += "\\x09";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace tenon::loader
