// Where the command writes: data to one sink, everything else to another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace tenon::cli {

/// How text is laid out and coloured.
struct Style {
  int width = 80;       ///< columns that a line should fit
  bool colour = false;  ///< escapes are allowed
};

enum class Ink : unsigned char { kPlain, kBold, kDim, kGood, kBad, kWarn };
/// The text with marks of its ink, or as it is where the style has no colour. The console makes
/// escapes of the marks.
[[nodiscard]] std::string inked(std::string_view text, Ink ink, const Style& style);
/// What a console writes of a text: escapes for the marks of inks, and everything else printable,
/// whatever plugins, files and arguments put into it.
[[nodiscard]] std::string as_shown(std::string_view text, const Style& style);

/// Output of one run of the command.
class Console {
 public:
  using Sink = std::function<void(std::string_view)>;
  Console(Sink out, Sink err, Style out_style, Style err_style, bool shows_progress)
      : out_(std::move(out)),
        err_(std::move(err)),
        out_style_(out_style),
        err_style_(err_style),
        shows_progress_(shows_progress) {}
  /// `out` for data, and stderr: 80 columns and no colour where they are no terminal; no colour
  /// where NO_COLOR is set or the terminal is dumb.
  static Console standard(std::FILE* out);

  void out(std::string_view text) { out_(as_shown(text, out_style_)); }
  void err(std::string_view text) { err_(as_shown(text, err_style_)); }
  /// Replaces the line that the cursor of the error sink stands in.
  void show_progress(std::string_view line) { err_("\r\x1b[K" + as_shown(line, {})); }
  [[nodiscard]] const Style& out_style() const { return out_style_; }
  [[nodiscard]] const Style& err_style() const { return err_style_; }
  [[nodiscard]] bool shows_progress() const { return shows_progress_; }

 private:
  Sink out_;
  Sink err_;
  Style out_style_;
  Style err_style_;
  bool shows_progress_;
};

/// A line on the error sink that says how far work has come: only on a terminal, only after a
/// second, gone at the end.
class Progress {
 public:
  Progress(Console& console, std::string what) : console_(console), what_(std::move(what)) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// "timing: 3 of 10"; total 0 where it is not known.
  void update(std::size_t done, std::size_t total);

 private:
  Console& console_;
  std::string what_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
  bool shown_ = false;
};

}  // namespace tenon::cli
