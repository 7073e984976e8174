// Text for people: inks, tables with bars, one line of progress. All of it is plain when nobody looks: in a
// pipe there are no escape codes, no bars and no progress.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace klab {

/// What a text is printed on.
struct Paper {
  bool terminal = false;  // bars and progress make sense
  bool color = false;     // a terminal, NO_COLOR unset or empty, TERM not "dumb"
  int width = 100;        // columns
};

/// The paper behind standard output, looked at once.
const Paper& paper();

enum class Ink { plain, bold, dim, red, green, yellow, cyan };

/// The text in that ink; unchanged on paper without color.
std::string inked(std::string_view text, Ink ink, const Paper& on = paper());

/// Columns a UTF-8 text takes, one a code point.
int columns_of(std::string_view text);

/// A bar of `fraction` of `cells` columns, in eighths of a block. Fractions are clamped to [0, 1]; NaN gives
/// none.
std::string bar(double fraction, int cells);

/// 1.234 ms, 12.3 us: seconds with a unit, three or four digits.
std::string seconds_text(double seconds);

struct Cell {
  Cell(const char* t) : text(t) {}                                         // NOLINT: a cell is a text
  Cell(std::string t, Ink i = Ink::plain) : text(std::move(t)), ink(i) {}  // NOLINT
  static Cell bar(double value, Ink ink = Ink::cyan);  // for a column of kind bar; its longest bar fills it

  std::string text;
  Ink ink = Ink::plain;
  double value = 0;
};

struct Column {
  enum class Kind { left, right, bar };
  std::string title;
  Kind kind = Kind::left;
  int cells = 24;  // width of a bar column, which is left out where bars make no sense
};

/// Rows under titles, as wide as their longest cell; two spaces between columns, none at the end of a line.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(
      std::vector<Cell> row);  // throws std::invalid_argument when the number of cells is not the columns'
  bool empty() const { return rows_.empty(); }
  std::string text(const Paper& on = paper()) const;  // with titles; every line starts with `indent` spaces
  void indent(int spaces) { indent_ = spaces; }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  int indent_ = 0;
};

/// One line on standard error that is written over, and gone in the end. Silent unless that is a terminal.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const std::string& line);
  void clear();  // before anything else is printed

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace klab
