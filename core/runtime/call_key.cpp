// Call keys and their hash.
#include "runtime/call_key.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace tenon {

void append_value(std::vector<std::uint64_t>& words, const tenon_value& v) {
  words.push_back(v.kind | v.count << 8);
  switch (v.kind) {
    case TENON_VALUE_BOOL:
    case TENON_VALUE_INT:
    case TENON_VALUE_DTYPE:
      words.push_back(static_cast<std::uint64_t>(v.i));
      return;
    case TENON_VALUE_FLOAT:
      words.push_back(std::isnan(v.f) ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(v.f));
      return;
    case TENON_VALUE_STR: {
      const auto* text = static_cast<const char*>(v.data);
      for (std::uint64_t at = 0; at < v.count; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(
            &word, text + at, static_cast<std::size_t>(v.count - at < 8 ? v.count - at : 8));
        words.push_back(word);
      }
      return;
    }
    case TENON_VALUE_INTS: {
      const auto* ints = static_cast<const std::int64_t*>(v.data);
      for (std::uint64_t i = 0; i < v.count; ++i)
        words.push_back(static_cast<std::uint64_t>(ints[i]));
      return;
    }
    case TENON_VALUE_FLOATS: {
      const auto* floats = static_cast<const double*>(v.data);
      for (std::uint64_t i = 0; i < v.count; ++i) {
        words.push_back(std::isnan(floats[i]) ? 0x7ff8000000000000u
                                              : std::bit_cast<std::uint64_t>(floats[i]));
      }
      return;
    }
    case TENON_VALUE_LIST: {
      const auto* items = static_cast<const tenon_value*>(v.data);
      for (std::uint64_t i = 0; i < v.count; ++i) append_value(words, items[i]);
      return;
    }
    default:
      return;
  }
}

void make_call_key(std::vector<std::uint64_t>& words,
                   std::uint32_t interface,
                   Device device,
                   std::span<const tenon_value> fields,
                   std::span<const tenon_arg_facts> facts,
                   std::span<const tenon_dtype> dtypes) {
  words.clear();
  words.push_back(std::uint64_t{interface} << 32 | std::uint64_t{device.kind.id()} << 16 |
                  static_cast<std::uint16_t>(device.index));
  for (const tenon_value& field : fields) append_value(words, field);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const tenon_arg_facts& f = facts[i];
    if (f.present == 0) {
      words.push_back(0);
      continue;
    }
    words.push_back(std::uint64_t{f.present} << 32 | std::uint64_t{f.layout} << 28 |
                    std::uint64_t{f.align_log2} << 24 | std::uint64_t{f.wide} << 20 |
                    std::uint64_t{dtypes[i].code} << 8 | dtypes[i].bits);
    words.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(f.alias_of)));
  }
}

// A multiply and fold per word; the constants are odd numbers with well-spread bits (the golden
// ratio and a prime), which is all that a table of a few hundred keys needs.
std::uint64_t hash_words(std::span<const std::uint64_t> words) noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15u ^ words.size();
  for (const std::uint64_t word : words) {
    h = (h ^ word) * 0xd6e8feb86659fd93u;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace tenon
