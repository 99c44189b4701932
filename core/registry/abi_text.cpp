// Reading what plugins hand over.
#include "registry/abi_text.hpp"

#include "tenon/core/plugin_record.hpp"

namespace tenon::detail {
namespace {

// Length of the well-formed sequence at the front, 0 where there is none.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

template <std::size_t N>
std::string array_text(const char (&chars)[N]) {
  return clean_text(std::string_view(chars, strnlen(chars, N)));
}

constexpr std::uint64_t kMaxItems = 4096;

}  // namespace

std::string clean_text(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = sequence_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (n == 0) {
      out += '?';
    } else if (first < 0x20 || first == 0x7f) {
      out += "\\x";
      out += kDigits[first / 16];
      out += kDigits[first % 16];
    } else {
      out.append(text.substr(0, n));
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

bool valid_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t n = sequence_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string text_of(const tenon_reason& reason) { return array_text(reason.text); }
std::string attribute_of(const tenon_reason& reason) { return array_text(reason.attribute); }

std::string failure_text(tenon_status status, const tenon_reason& reason) {
  const std::string text = text_of(reason);
  return std::string(status_name(status)) + (text.empty() ? "" : ": " + text);
}

Value value_of(const tenon_value& v, int depth) {
  const bool readable = v.data != nullptr && v.count <= kMaxItems && depth < 8;
  switch (v.kind) {
    case TENON_VALUE_BOOL:
      return Value(v.i != 0);
    case TENON_VALUE_INT:
      return Value(v.i);
    case TENON_VALUE_FLOAT:
      return Value(v.f);
    case TENON_VALUE_DTYPE: {
      const tenon_dtype d{static_cast<std::uint8_t>(v.i & 0xff),
                          static_cast<std::uint8_t>((v.i >> 8) & 0xff),
                          static_cast<std::uint16_t>((v.i >> 16) & 0xffff)};
      const auto dtype = dtype_from_abi(d);
      return dtype ? Value(*dtype)
                   : Value("dtype " + std::to_string(d.code) + "/" + std::to_string(d.bits));
    }
    case TENON_VALUE_STR:
      return readable ? Value(clean_text({static_cast<const char*>(v.data), v.count})) : Value("");
    case TENON_VALUE_INTS: {
      ValueList list;
      for (std::uint64_t i = 0; readable && i < v.count; ++i) {
        list.items.emplace_back(static_cast<const std::int64_t*>(v.data)[i]);
      }
      return Value(std::move(list));
    }
    case TENON_VALUE_FLOATS: {
      ValueList list;
      for (std::uint64_t i = 0; readable && i < v.count; ++i) {
        list.items.emplace_back(static_cast<const double*>(v.data)[i]);
      }
      return Value(std::move(list));
    }
    case TENON_VALUE_LIST: {
      ValueList list;
      for (std::uint64_t i = 0; readable && i < v.count; ++i) {
        list.items.push_back(value_of(static_cast<const tenon_value*>(v.data)[i], depth + 1));
      }
      return Value(std::move(list));
    }
    default:
      return {};
  }
}

}  // namespace tenon::detail
