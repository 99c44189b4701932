// The look before parsing: a lexer that knows quotes, comments, block scalars and brackets, and
// nothing else.
#include "yaml_scan.hpp"

#include <algorithm>

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
    in_plain_ = false;
    block_scalar_ = false;
    char before = ' ';
    for (; !end_of_line(); ++at_) {
      const char c = text_[at_];
      if (quote_ != 0) {
        in_quote(c);
      } else if (c == '#' && is_blank(before)) {
        break;
      } else if (!is_blank(c)) {
        block_scalar_ = false;  // something follows its sign, so that was none
        token(c, !scan_.open_brackets.empty());
        if (scan_.too_deep) return;
      }
      before = text_[at_];
    }
    next_line();
    if (block_scalar_) skip_block_scalar(spaces);
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t'; }

  /// A character outside quotes that is no blank. `flow`: inside brackets.
  void token(char c, bool flow) {
    if (flow && (c == ']' || c == '}')) {
      scan_.open_brackets.pop_back();
      in_plain_ = false;
    } else if (is_separator(c, flow)) {
      in_plain_ = false;
    } else if (!in_plain_) {
      first_of_node(c, flow);
    }
  }

  bool is_separator(char c, bool flow) const {
    if (c == ',') return flow;
    if (c == ':') return separates(flow);
    return !in_plain_ && (c == '-' || c == '?') && separates(false);
  }

  void first_of_node(char c, bool flow) {
    if (c == '"' || c == '\'') {
      quote_ = c;
      quote_place_ = here();
    } else if (c == '[' || c == '{') {
      open(c);
    } else if (!flow && (c == '|' || c == '>')) {
      block_scalar_ = true;
      to_last_before(text_.find_first_not_of("-+0123456789", at_ + 1));
    } else if (c == '&' || c == '!' || c == '*') {
      to_last_before(text_.find_first_of(" \n,]}", at_ + 1));
    } else {
      in_plain_ = true;
    }
  }

  void to_last_before(std::size_t end) { at_ = std::min(end, text_.size()) - 1; }

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
  bool in_plain_ = false;      ///< inside a plain scalar
  bool block_scalar_ = false;  ///< the line's last token announces a block scalar
  char quote_ = 0;
  TextPlace quote_place_;
};

/// Sequences of several bytes by their first byte. Every byte after the second is 80..BF.
struct Utf8Form {
  unsigned char first_min, first_max;
  unsigned char second_min, second_max;
  std::size_t length;
};
/// Overlong forms, surrogates and numbers beyond U+10FFFF have no row (Unicode 15, table 3-7).
constexpr Utf8Form kUtf8Forms[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2},
    {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4},
    {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/// Length of the UTF-8 sequence at `at`, 0 if it is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto within = [&](std::size_t i, unsigned char min, unsigned char max) {
    if (at + i >= text.size()) return false;
    const auto byte = static_cast<unsigned char>(text[at + i]);
    return byte >= min && byte <= max;
  };
  if (within(0, 0x00, 0x7f)) return 1;
  for (const Utf8Form& form : kUtf8Forms) {
    if (!within(0, form.first_min, form.first_max)) continue;
    bool good = within(1, form.second_min, form.second_max);
    for (std::size_t i = 2; i < form.length; ++i) good = good && within(i, 0x80, 0xbf);
    return good ? form.length : 0;
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
