// The look before parsing: a lexer that knows quotes, comments, block scalars and brackets, and
// nothing else.
#include "yaml_scan.hpp"

namespace tenon::manifest {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, std::size_t depth_limit)
      : text_(text), depth_limit_(depth_limit) {}

  YamlScan run() {
    while (at_ < text_.size() && !scan_.too_deep) line();
    if (quote_ != 0) scan_.open_quote = OpenMark{quote_, quote_place_};
    return std::move(scan_);
  }

 private:
  TextPlace here() const { return {line_, static_cast<std::uint32_t>(at_ - line_start_) + 1}; }
  bool end_of_line() const { return at_ >= text_.size() || text_[at_] == '\n'; }

  void next_line() {
    while (!end_of_line()) ++at_;
    if (at_ < text_.size()) ++at_;
    ++line_;
    line_start_ = at_;
  }

  /// Skips the indentation and notes a tab in it. Returns the number of spaces.
  std::size_t indentation() {
    std::size_t spaces = 0;
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
      ++spaces;
    }
    if (at_ < text_.size() && text_[at_] == '\t') {
      const TextPlace tab = here();
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
      if (!end_of_line() && text_[at_] != '#' && scan_.open_brackets.empty() && quote_ == 0)
        scan_.indent_tabs.push_back(tab);
    }
    return spaces;
  }

  void line() {
    const std::size_t spaces = indentation();
    bool in_plain = false;
    bool block_scalar = false;
    char before = ' ';
    for (; !end_of_line(); ++at_) {
      const char c = text_[at_];
      if (quote_ != 0) {
        in_quote(c);
        before = c;
        continue;
      }
      if (c == '#' && (before == ' ' || before == '\t')) break;
      const bool flow = !scan_.open_brackets.empty();
      if (c != ' ' && c != '\t') block_scalar = false;
      if (c == ' ' || c == '\t') {
      } else if (!in_plain && (c == '"' || c == '\'')) {
        quote_ = c;
        quote_place_ = here();
      } else if (!in_plain && (c == '[' || c == '{')) {
        open(c);
        if (scan_.too_deep) return;
      } else if (flow && (c == ']' || c == '}')) {
        scan_.open_brackets.pop_back();
        in_plain = false;
      } else if ((flow && c == ',') || (c == ':' && separates(flow)) ||
                 (!in_plain && (c == '-' || c == '?') && separates(false))) {
        in_plain = false;
      } else if (!in_plain && !flow && (c == '|' || c == '>')) {
        block_scalar = true;
        while (at_ + 1 < text_.size() && (text_[at_ + 1] == '-' || text_[at_ + 1] == '+' ||
                                          (text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9'))) {
          ++at_;
        }
      } else if (!in_plain && (c == '&' || c == '!' || c == '*')) {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != ' ' && text_[at_ + 1] != '\n' &&
               text_[at_ + 1] != ',' && text_[at_ + 1] != ']' && text_[at_ + 1] != '}') {
          ++at_;
        }
      } else {
        in_plain = true;
      }
      before = text_[at_];
    }
    next_line();
    if (block_scalar) skip_block_scalar(spaces);
  }

  bool separates(bool flow) const {
    if (at_ + 1 >= text_.size()) return true;
    const char next = text_[at_ + 1];
    return next == ' ' || next == '\n' || next == '\t' ||
           (flow && (next == ',' || next == ']' || next == '}'));
  }

  void in_quote(char c) {
    if (quote_ == '"' && c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
      ++at_;
    } else if (c == quote_) {
      if (quote_ == '\'' && at_ + 1 < text_.size() && text_[at_ + 1] == '\'') {
        ++at_;
      } else {
        quote_ = 0;
      }
    }
  }

  void open(char c) {
    if (scan_.open_brackets.size() >= depth_limit_) {
      scan_.too_deep = here();
    } else {
      scan_.open_brackets.push_back({c, here()});
    }
  }

  void skip_block_scalar(std::size_t parent_spaces) {
    while (at_ < text_.size()) {
      std::size_t spaces = 0;
      while (at_ + spaces < text_.size() && text_[at_ + spaces] == ' ') ++spaces;
      const bool blank = at_ + spaces >= text_.size() || text_[at_ + spaces] == '\n';
      if (!blank && spaces <= parent_spaces) return;
      next_line();
    }
  }

  std::string_view text_;
  std::size_t depth_limit_;
  YamlScan scan_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  char quote_ = 0;
  TextPlace quote_place_;
};

/// Length of the UTF-8 sequence at `at`, 0 if it is none (overlong forms, surrogates and numbers
/// beyond U+10FFFF are none: Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (!tail(1) || !tail(2)) return 0;
    if (first == 0xe0 && byte(1) < 0xa0) return 0;
    if (first == 0xed && byte(1) > 0x9f) return 0;
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (first == 0xf0 && byte(1) < 0x90) return 0;
    if (first == 0xf4 && byte(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

YamlScan scan_yaml(std::string_view text, std::size_t depth_limit) {
  return Scanner(text, depth_limit).run();
}

std::optional<BadByte> find_bad_byte(std::string_view text) {
  TextPlace place{1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f;
    const std::size_t length = utf8_length(text, at);
    if (control || length == 0) return BadByte{place, byte, control};
    at += length;
    if (byte == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      place.column += static_cast<std::uint32_t>(length);
    }
  }
  return std::nullopt;
}

}  // namespace tenon::manifest
