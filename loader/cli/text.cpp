// Layout of tables and paragraphs.
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tenon::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestColumn = 12;

std::string scaled(double value, double base, std::string_view separator, const auto& units) {
  std::size_t unit = 0;
  while (std::fabs(value) >= base && unit + 1 < units.size()) {
    value /= base;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::floor(value);
  std::string text = whole ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
  if (!units[unit].empty()) text += fmt::format("{}{}", separator, units[unit]);
  return text;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      lines.emplace_back();
      ++at;
      continue;
    }
    if (text[at] == ' ' && lines.back().empty() && lines.size() > 1) {
      ++at;  // a line that goes on begins with a word
      continue;
    }
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find_first_of(" \n", word), text.size());
    const std::string_view piece = text.substr(at, end - at);
    if (!lines.back().empty() && display_width(lines.back()) + display_width(piece) > width) {
      lines.emplace_back(text.substr(word, end - word));
    } else {
      lines.back() += piece;
    }
    at = end;
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

std::string paragraph(std::string_view text, std::size_t indent, const Style& style) {
  const auto width = static_cast<std::size_t>(style.width);
  std::string all;
  for (const std::string& line : wrapped(text, width > indent ? width - indent : 1)) {
    if (!line.empty()) all += std::string(indent, ' ') + line;
    all += '\n';
  }
  return all;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string bytes_text(double size_bytes) {
  static constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return scaled(size_bytes, 1024, " ", kUnits);
}

std::string quantity_text(double count, std::string_view unit) {
  static constexpr std::array<std::string_view, 6> kSteps{" ", " k", " M", " G", " T", " P"};
  return scaled(count, 1000, "", kSteps) + std::string(unit);
}

std::string duration_text(double ns) {
  static constexpr std::array<std::string_view, 4> kUnits{"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  while (ns >= 1000 && unit + 1 < kUnits.size()) {
    ns /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", ns, unit == 0 ? 0 : (ns < 10 ? 2 : 1), kUnits[unit]);
}

std::string number_text(double value, int digits) {
  // The sign of a NaN says nothing.
  return std::isnan(value) ? "nan" : fmt::format("{:.{}g}", value, digits);
}

void Table::row(std::vector<Cell> cells) {
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back({std::move(cells), {}});
}

void Table::note(std::string text) {
  rows_.back().notes.push_back({Cell(std::move(text), Ink::kDim), false});
}

void Table::remark(std::string text, Ink ink) {
  rows_.back().notes.push_back({Cell(std::move(text), ink), true});
}

std::vector<std::size_t> Table::widths(std::size_t available) const {
  std::vector<std::size_t> result(columns_.size(), 0);
  std::size_t used = 0;
  std::size_t total = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const Row& row : rows_) result[c] = std::max(result[c], display_width(row.cells[c].text));
    if (result[c] == 0) continue;
    result[c] = std::max(result[c], display_width(columns_[c].title));
    total += result[c] + (used++ == 0 ? 0 : kGap);
  }
  // The widest column that may wrap gives way until the rows fit.
  while (total > available) {
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!columns_[c].wraps || result[c] <= kNarrowestColumn) continue;
      if (widest == columns_.size() || result[c] > result[widest]) widest = c;
    }
    if (widest == columns_.size()) break;
    --result[widest];
    --total;
  }
  return result;
}

std::string Table::line_of(const std::vector<std::string>& texts,
                           const std::vector<Ink>& inks,
                           const Layout& layout) const {
  std::string line(layout.indent, ' ');
  std::size_t pending = 0;  // spaces are written only before further text
  bool first = true;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::size_t width = layout.widths[c];
    if (width == 0) continue;
    if (!first) pending += kGap;
    first = false;
    const std::size_t taken = display_width(texts[c]);
    const std::size_t padding = width > taken ? width - taken : 0;
    if (taken == 0) {
      pending += padding;
      continue;
    }
    line.append(pending + (columns_[c].right_aligned ? padding : 0), ' ');
    line += inked(texts[c], inks[c], layout.style);
    pending = columns_[c].right_aligned ? 0 : padding;
  }
  return line + '\n';
}

std::string Table::lines_of(const Row& row, const Layout& layout) const {
  std::vector<std::vector<std::string>> lines;
  std::vector<Ink> inks;
  lines.reserve(columns_.size());
  inks.reserve(columns_.size());
  std::size_t height = 1;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::string& text = row.cells[c].text;
    const std::size_t width = layout.widths[c];
    const bool fits = !columns_[c].wraps || display_width(text) <= width;
    lines.push_back(fits ? std::vector<std::string>{text} : wrapped(text, width));
    inks.push_back(row.cells[c].ink);
    height = std::max(height, lines.back().size());
  }
  std::string all;
  for (std::size_t i = 0; i < height; ++i) {
    std::vector<std::string> texts;
    texts.reserve(lines.size());
    for (const auto& cell : lines) texts.push_back(i < cell.size() ? cell[i] : std::string());
    all += line_of(texts, inks, layout);
  }
  return all;
}

std::string Table::lines_of(const Note& note, const Layout& layout) {
  const std::size_t left = layout.indent + kGap;
  const std::size_t right =
      note.wraps && layout.available > left ? layout.available - left : std::string::npos;
  std::string all;
  for (const std::string& line : wrapped(note.cell.text, right)) {
    all.append(left, ' ');
    all += inked(line, note.cell.ink, layout.style);
    all += '\n';
  }
  return all;
}

std::string Table::render(const Style& style, std::size_t indent) const {
  const auto available = static_cast<std::size_t>(style.width);
  const Layout layout{
      style, indent, available, widths(available > indent ? available - indent : 1)};
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(column.title);
  const bool has_titles =
      std::any_of(titles.begin(), titles.end(), [](const auto& t) { return !t.empty(); });
  std::string all;
  if (has_titles) all = line_of(titles, std::vector<Ink>(columns_.size(), Ink::kBold), layout);
  for (const Row& row : rows_) {
    all += lines_of(row, layout);
    for (const Note& note : row.notes) all += lines_of(note, layout);
  }
  return all;
}

}  // namespace tenon::cli
