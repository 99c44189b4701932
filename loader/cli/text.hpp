// Text for people: tables that fit a width, wrapped paragraphs, numbers with units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "console.hpp"

namespace tenon::cli {

/// Columns that a UTF-8 text takes, one per code point.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Lines of at most `width` columns, broken at spaces; a word that is longer stays whole.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// The text wrapped, each line behind `indent` spaces and ended.
[[nodiscard]] std::string paragraph(std::string_view text, std::size_t indent, const Style& style);

[[nodiscard]] std::string joined(const std::vector<std::string>& parts,
                                 std::string_view separator = ", ");
/// "1 op", "2 ops"
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);
/// "512 B", "1.5 KiB", "80.0 GiB"
[[nodiscard]] std::string bytes_text(double size_bytes);
/// "24 flop", "16.8 Mflop": a count of a unit in decimal steps
[[nodiscard]] std::string quantity_text(double count, std::string_view unit);
/// "950 ns", "12.3 us", "4.56 ms", "1.20 s"
[[nodiscard]] std::string duration_text(double ns);
/// As many significant digits, for summaries; "nan" for every NaN.
[[nodiscard]] std::string number_text(double value, int digits = 6);

struct Column {
  std::string title;
  bool right_aligned = false;
  bool wraps = false;  ///< may be made narrower; its text then goes on in further lines
};

struct Cell {
  std::string text;
  Ink ink = Ink::kPlain;
  Cell(std::string t, Ink i = Ink::kPlain)
      : text(std::move(t)), ink(i) {}    // NOLINT(google-explicit-constructor)
  Cell(std::string_view t) : text(t) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* t) : text(t) {}       // NOLINT(google-explicit-constructor)
};

/// Rows under titles, as wide as needed, narrower where the style's width asks for it and columns
/// may wrap. Columns in which every cell is empty are left out.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<Cell> cells);
  /// A line of its own under the last row, never cut or wrapped: for paths.
  void note(std::string text);
  /// A paragraph of its own under the last row.
  void remark(std::string text, Ink ink = Ink::kDim);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Every line ended; each behind `indent` spaces.
  [[nodiscard]] std::string render(const Style& style, std::size_t indent = 0) const;

 private:
  struct Note {
    Cell cell;
    bool wraps;
  };
  struct Row {
    std::vector<Cell> cells;
    std::vector<Note> notes;
  };
  /// How a call of render lays out its lines.
  struct Layout {
    const Style& style;
    std::size_t indent;
    std::size_t available;
    std::vector<std::size_t> widths;
  };
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t available) const;
  [[nodiscard]] std::string line_of(const std::vector<std::string>& texts,
                                    const std::vector<Ink>& inks,
                                    const Layout& layout) const;
  [[nodiscard]] std::string lines_of(const Row& row, const Layout& layout) const;
  [[nodiscard]] static std::string lines_of(const Note& note, const Layout& layout);
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace tenon::cli
