// Copies of values with everything that they point to.
#include "runtime/value_copies.hpp"

#include <cstring>

namespace tenon {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
static_assert(sizeof(tenon_value) % kWord == 0 && alignof(tenon_value) <= alignof(std::uint64_t));
constexpr std::size_t kValueWords = sizeof(tenon_value) / kWord;

std::size_t payload_words(const tenon_value& value) {
  switch (value.kind) {
    case TENON_VALUE_STR:
      return static_cast<std::size_t>(value.count + kWord - 1) / kWord;
    case TENON_VALUE_INTS:
    case TENON_VALUE_FLOATS:
      return static_cast<std::size_t>(value.count);
    case TENON_VALUE_LIST: {
      const auto* items = static_cast<const tenon_value*>(value.data);
      std::size_t words = static_cast<std::size_t>(value.count) * kValueWords;
      for (std::uint64_t i = 0; i < value.count; ++i) words += payload_words(items[i]);
      return words;
    }
    default:
      return 0;
  }
}

// Copies values to `to`, and what they point to behind them; returns the end of that.
std::uint64_t* place(std::span<const tenon_value> values, std::uint64_t* to, std::uint64_t* room) {
  auto* placed = reinterpret_cast<tenon_value*>(to);
  for (std::size_t i = 0; i < values.size(); ++i) {
    tenon_value value = values[i];
    const std::size_t count = static_cast<std::size_t>(value.count);
    if (value.kind == TENON_VALUE_LIST) {
      std::uint64_t* const items = room;
      room = place(
          {static_cast<const tenon_value*>(value.data), count}, items, items + count * kValueWords);
      value.data = items;
    } else if (const std::size_t words = payload_words(value); words != 0) {
      std::memcpy(room, value.data, value.kind == TENON_VALUE_STR ? count : count * kWord);
      value.data = room;
      room += words;
    }
    placed[i] = value;
  }
  return room;
}

}  // namespace

void ValueCopies::assign(std::span<const tenon_value> values) {
  std::size_t words = values.size() * kValueWords;
  for (const tenon_value& value : values) words += payload_words(value);
  words_.resize(words);
  place(values, words_.data(), words_.data() + values.size() * kValueWords);
}

}  // namespace tenon
