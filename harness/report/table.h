// Text output: colors, tables with bars, a progress line. In a pipe the output is plain, without escape
// codes, bars and progress.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace klab {

/// The output device of a text.
struct Paper {
  bool terminal = false;  // bars and progress are shown
  bool color = false;     // a terminal, NO_COLOR unset or empty, TERM not "dumb"
  int width = 100;        // columns
};

/// Returns the properties of standard output, detected once.
const Paper& paper();

enum class Ink { plain, bold, dim, red, green, yellow, cyan };

/// Colors the text; returns it unchanged if the output has no color.
std::string inked(std::string_view text, Ink ink, const Paper& on = paper());

/// Returns the columns that a UTF-8 text takes, one per code point.
int columns_of(std::string_view text);

/// Returns a bar that fills `fraction` of `cells` columns, in eighths of a block. Fractions are clamped to
/// [0, 1]; NaN gives an empty bar.
std::string bar(double fraction, int cells);

/// Formats seconds with a unit and three or four digits: 1.234 ms, 12.3 us.
std::string seconds_text(double seconds);

struct Cell {
  Cell(const char* t) : text(t) {}                                         // NOLINT: converts from text
  Cell(std::string t, Ink i = Ink::plain) : text(std::move(t)), ink(i) {}  // NOLINT
  // for a column of kind bar; the largest value fills the column
  static Cell bar(double value, Ink ink = Ink::cyan);

  std::string text;
  Ink ink = Ink::plain;
  double value = 0;
};

struct Column {
  enum class Kind { left, right, bar };
  std::string title;
  Kind kind = Kind::left;
  int cells = 24;  // width of a bar column, which is left out when bars are not shown
};

/// Rows under titles. Columns are as wide as their longest cell, with two spaces between them and none at the
/// end of a line.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(
      // throws std::invalid_argument if the number of cells differs from the number of columns
      std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  std::string text(const Paper& on = paper()) const;  // with titles; every line starts with `indent` spaces
  void indent(int spaces) { indent_ = spaces; }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  int indent_ = 0;
};

/// A line on standard error that is overwritten and finally erased. Prints nothing unless standard error is a
/// terminal.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const std::string& line);
  void clear();  // call before printing anything else

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace klab
