// The two streams of the process and what kind of terminals they are.
#include "console.hpp"

#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

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

Console::Sink sink_of(std::FILE* file) {
  return [file](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  };
}

constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kBetweenUpdates{100};

}  // namespace

Progress::~Progress() {
  if (shown_) console_.err("\r\x1b[K");
}

void Progress::update(std::size_t done, std::size_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!console_.shows_progress() || now - begin_ < kPatience || now - last_ < kBetweenUpdates)
    return;
  last_ = now;
  shown_ = true;
  std::string line = "\r\x1b[K" + what_ + ": " + std::to_string(done);
  if (total != 0) line += " of " + std::to_string(total);
  console_.err(line);
}

std::string inked(std::string_view text, Ink ink, const Style& style) {
  const char* escape = nullptr;
  switch (ink) {
    case Ink::kPlain:
      break;
    case Ink::kBold:
      escape = "\x1b[1m";
      break;
    case Ink::kDim:
      escape = "\x1b[2m";
      break;
    case Ink::kGood:
      escape = "\x1b[32m";
      break;
    case Ink::kBad:
      escape = "\x1b[31m";
      break;
    case Ink::kWarn:
      escape = "\x1b[33m";
      break;
  }
  if (!style.colour || escape == nullptr || text.empty()) return std::string(text);
  return std::string(escape) + std::string(text) + "\x1b[0m";
}

Console Console::standard() {
  return {sink_of(stdout),
          sink_of(stderr),
          style_of(STDOUT_FILENO),
          style_of(STDERR_FILENO),
          isatty(STDERR_FILENO) != 0};
}

}  // namespace tenon::cli
