// The implicit resolvers of YAML 1.1 as PyYAML has them, written out by hand.
#include "tenon/manifest/scalar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace tenon::manifest {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool digit_or_underscore(char c) { return digit(c) || c == '_'; }
bool octal_or_underscore(char c) { return (c >= '0' && c <= '7') || c == '_'; }
bool binary_or_underscore(char c) { return c == '0' || c == '1' || c == '_'; }
bool hex_or_underscore(char c) {
  return digit(c) || c == '_' || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

template <class Predicate>
bool all_of(std::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), predicate);
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text;
}

bool one_of(std::string_view text, std::string_view word) {
  // A word in lower, Capitalized or UPPER form.
  if (text.size() != word.size()) return false;
  const auto upper = [](char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  };
  bool lower = true;
  bool capital = true;
  bool all_upper = true;
  for (std::size_t i = 0; i < word.size(); ++i) {
    lower = lower && text[i] == word[i];
    capital = capital && text[i] == (i == 0 ? upper(word[i]) : word[i]);
    all_upper = all_upper && text[i] == upper(word[i]);
  }
  return lower || capital || all_upper;
}

std::optional<bool> as_bool(std::string_view text) {
  for (const std::string_view word : {"yes", "true", "on"}) {
    if (one_of(text, word)) return true;
  }
  for (const std::string_view word : {"no", "false", "off"}) {
    if (one_of(text, word)) return false;
  }
  return std::nullopt;
}

std::string without_underscores(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != '_') plain += c;
  }
  return plain;
}

/// `(?::[0-5]?[0-9])+` from the first colon on; `rest` is what follows the last group.
bool sexagesimal_groups(std::string_view text, std::string_view& rest) {
  bool any = false;
  while (!text.empty() && text.front() == ':') {
    text.remove_prefix(1);
    std::size_t digits = 0;
    while (digits < text.size() && digits < 2 && digit(text[digits])) ++digits;
    if (digits == 0 || (digits == 2 && text[0] > '5')) return false;
    text.remove_prefix(digits);
    any = true;
  }
  rest = text;
  return any;
}

bool is_exponent(std::string_view text) {  // [eE][-+][0-9]+
  return text.size() >= 3 && (text[0] == 'e' || text[0] == 'E') &&
         (text[1] == '-' || text[1] == '+') && all_of(text.substr(2), digit);
}

double parse_double(std::string_view text) {
  const std::string plain = without_underscores(text);
  std::string_view digits = plain;
  const bool negative = !digits.empty() && digits.front() == '-';
  digits = without_sign(digits);
  double value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    // from_chars leaves the value alone: a negative exponent underflows, a positive one overflows.
    value =
        digits.find("e-") != std::string_view::npos || digits.find("E-") != std::string_view::npos
            ? 0.0
            : std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

std::optional<Scalar> as_float(std::string_view text) {
  const std::string_view body = without_sign(text);
  if (body == ".inf" || body == ".Inf" || body == ".INF") {
    const double infinity = std::numeric_limits<double>::infinity();
    return Scalar{Scalar::Kind::kFloat, text.front() == '-' ? -infinity : infinity};
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    return Scalar{Scalar::Kind::kFloat, std::numeric_limits<double>::quiet_NaN()};
  }
  const auto fraction = [&](std::string_view after_point) -> bool {
    std::size_t n = 0;
    while (n < after_point.size() && digit_or_underscore(after_point[n])) ++n;
    return n == after_point.size() || is_exponent(after_point.substr(n));
  };
  if (!text.empty() && text.front() == '.') {  // without a sign, by PyYAML's rule
    if (text.size() > 1 && digit(text[1]) && fraction(text.substr(1))) {
      return Scalar{Scalar::Kind::kFloat, parse_double(text)};
    }
    return std::nullopt;
  }
  if (body.empty() || !digit(body.front())) return std::nullopt;
  std::size_t n = 0;
  while (n < body.size() && digit_or_underscore(body[n])) ++n;
  if (n < body.size() && body[n] == '.') {
    if (!fraction(body.substr(n + 1))) return std::nullopt;
    return Scalar{Scalar::Kind::kFloat, parse_double(text)};
  }
  std::string_view rest;
  if (n < body.size() && sexagesimal_groups(body.substr(n), rest) && !rest.empty() &&
      rest.front() == '.' && all_of(rest.substr(1), digit_or_underscore)) {
    return Scalar{Scalar::Kind::kSexagesimal, std::string(text)};
  }
  return std::nullopt;
}

Scalar parse_int(std::string_view text, std::string_view digits, int base) {
  const std::string plain = without_underscores(digits);
  std::uint64_t magnitude = 0;
  const auto result = std::from_chars(plain.data(), plain.data() + plain.size(), magnitude, base);
  if (result.ec == std::errc::invalid_argument)
    return {Scalar::Kind::kString, std::string(text)};  // only underscores
  const bool negative = text.front() == '-';
  const std::uint64_t limit =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  if (result.ec == std::errc::result_out_of_range || magnitude > limit) {
    return {Scalar::Kind::kOutOfRange, std::string(text)};
  }
  return {Scalar::Kind::kInt, static_cast<std::int64_t>(negative ? ~magnitude + 1 : magnitude)};
}

std::optional<Scalar> as_int(std::string_view text) {
  const std::string_view body = without_sign(text);
  if (body.empty() || !digit(body.front())) return std::nullopt;
  if (body == "0") return Scalar{Scalar::Kind::kInt, std::int64_t{0}};
  if (body.front() == '0') {
    const std::string_view tail = body.substr(2 < body.size() ? 2 : body.size());
    if (body[1] == 'b' && !tail.empty() && all_of(tail, binary_or_underscore))
      return parse_int(text, tail, 2);
    if (body[1] == 'x' && !tail.empty() && all_of(tail, hex_or_underscore))
      return parse_int(text, tail, 16);
    if (all_of(body.substr(1), octal_or_underscore)) return parse_int(text, body, 8);
    return std::nullopt;
  }
  if (all_of(body, digit_or_underscore)) return parse_int(text, body, 10);
  std::size_t n = 0;
  while (n < body.size() && digit_or_underscore(body[n])) ++n;
  std::string_view rest;
  if (sexagesimal_groups(body.substr(n), rest) && rest.empty()) {
    return Scalar{Scalar::Kind::kSexagesimal, std::string(text)};
  }
  return std::nullopt;
}

bool take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t n = 0;
  while (n < text.size() && n < most && digit(text[n])) ++n;
  if (n < least) return false;
  text.remove_prefix(n);
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool blank(char c) { return c == ' ' || c == '\t'; }

void skip_blanks(std::string_view& text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
}

bool take_clock(std::string_view& text) {
  if (!take_digits(text, 1, 2) || !take(text, ':') || !take_digits(text, 2, 2) ||
      !take(text, ':') || !take_digits(text, 2, 2)) {
    return false;
  }
  if (take(text, '.')) {
    while (!text.empty() && digit(text.front())) text.remove_prefix(1);
  }
  return true;
}

bool is_timestamp(std::string_view text) {
  const std::string_view whole = text;
  if (!take_digits(text, 4, 4) || !take(text, '-')) return false;
  if (!take_digits(text, 1, 2) || !take(text, '-') || !take_digits(text, 1, 2)) return false;
  if (text.empty()) return whole.size() == 10;  // a date alone has two digits in each place
  if (text.front() == 'T' || text.front() == 't') {
    text.remove_prefix(1);
  } else {
    if (!blank(text.front())) return false;
    skip_blanks(text);
  }
  if (!take_clock(text)) return false;
  skip_blanks(text);
  if (text.empty() || text == "Z") return true;
  if (!take(text, '-') && !take(text, '+')) return false;
  if (!take_digits(text, 1, 2)) return false;
  return text.empty() || (take(text, ':') && take_digits(text, 2, 2) && text.empty());
}

}  // namespace

Scalar resolve_plain(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return {Scalar::Kind::kNull, Value{}};
  }
  if (const auto value = as_bool(text)) return {Scalar::Kind::kBool, *value};
  if (auto value = as_float(text)) return *std::move(value);
  if (auto value = as_int(text)) return *std::move(value);
  if (text == "<<") return {Scalar::Kind::kMerge, std::string(text)};
  if (text == "=") return {Scalar::Kind::kReserved, std::string(text)};
  if (is_timestamp(text)) return {Scalar::Kind::kTimestamp, std::string(text)};
  return {Scalar::Kind::kString, std::string(text)};
}

}  // namespace tenon::manifest
