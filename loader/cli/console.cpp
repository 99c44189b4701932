// The two streams of the process and what kind of terminals they are.
#include "console.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

#include "supervise.hpp"
#include "tenon/loader/printable.hpp"

namespace tenon::cli {
namespace {

constexpr int kDefaultWidth = 80;
constexpr int kNarrowest = 40;

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Style style_of(int descriptor) {
  Style style;
  if (isatty(descriptor) == 0) return style;
  style.colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  winsize size{};
  style.width =
      ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kDefaultWidth;
  if (style.width < kNarrowest) style.width = kNarrowest;
  return style;
}

Console::Sink sink_of(std::FILE* file, bool is_data) {
  return [file, is_data](std::string_view text) {
    end_where_forked();
    const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fflush(file) == 0 && whole && is_data) note_output();
  };
}

/// Where an ink begins and ends is marked until the text is shown: only then is everything else
/// in it known to be no escape. The mark is no UTF-8, so that no checked name has it.
constexpr std::string_view kMark = "\xff\xfe";
struct InkCode {
  char letter;
  std::string_view escape;
};
constexpr std::array<InkCode, 6> kInks{{
    // in the order of Ink
    {'p', "\x1b[0m"},
    {'b', "\x1b[1m"},
    {'d', "\x1b[2m"},
    {'g', "\x1b[32m"},
    {'r', "\x1b[31m"},
    {'y', "\x1b[33m"},
}};

constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kBetweenUpdates{100};

}  // namespace

Progress::~Progress() {
  if (shown_) console_.show_progress({});
}

void Progress::update(std::size_t done, std::size_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!console_.shows_progress() || now - begin_ < kPatience || now - last_ < kBetweenUpdates)
    return;
  last_ = now;
  shown_ = true;
  std::string line = what_ + ": " + std::to_string(done);
  if (total != 0) line += " of " + std::to_string(total);
  console_.show_progress(line);
}

std::string inked(std::string_view text, Ink ink, const Style& style) {
  if (!style.colour || ink == Ink::kPlain || text.empty()) return std::string(text);
  std::string marked(kMark);
  marked += kInks[static_cast<std::size_t>(ink)].letter;
  marked += text;
  marked += kMark;
  return marked + kInks.front().letter;
}

std::string as_shown(std::string_view text, const Style& style) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t mark = style.colour ? text.find(kMark) : std::string_view::npos;
    shown += loader::printable(text.substr(0, mark));
    if (mark == std::string_view::npos) break;
    text.remove_prefix(mark + kMark.size());
    const auto* const ink = std::find_if(kInks.begin(), kInks.end(), [&](const InkCode& code) {
      return text.starts_with(code.letter);
    });
    if (ink == kInks.end()) continue;
    shown += ink->escape;
    text.remove_prefix(1);
  }
  return shown;
}

Console Console::standard(std::FILE* out) {
  return {sink_of(out, true),
          sink_of(stderr, false),
          style_of(fileno(out)),
          style_of(STDERR_FILENO),
          isatty(STDERR_FILENO) != 0};
}

}  // namespace tenon::cli
