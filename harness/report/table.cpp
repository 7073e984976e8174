#include "harness/report/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "harness/report/terminal.h"
#include "harness/report/wrap.h"

namespace klab {
namespace {

bool set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

Paper look_at(int file) {
  Paper p;
  p.terminal = overwrites_lines(file);
  p.color = p.terminal && !set("NO_COLOR");
  winsize size{};
  if (isatty(file) != 0 && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) p.width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
    p.width = std::atoi(columns);
  p.width = std::max(p.width, 40);
  return p;
}

const char* code(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::bold:
      return "\033[1m";
    case Ink::dim:
      return "\033[2m";
    case Ink::red:
      return "\033[31m";
    case Ink::green:
      return "\033[32m";
    case Ink::yellow:
      return "\033[33m";
    case Ink::cyan:
      return "\033[36m";
  }
  return "";
}

}  // namespace

const Paper& paper() {
  static const Paper standard_output = look_at(STDOUT_FILENO);
  return standard_output;
}

std::string inked(std::string_view text, Ink ink, const Paper& on) {
  if (!on.color || ink == Ink::plain || text.empty()) return std::string(text);
  return code(ink) + std::string(text) + "\033[0m";
}

int columns_of(std::string_view text) {
  return int(std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

std::string bar(double fraction, int cells) {
  static const char* const partial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(fraction > 0)) return "";
  const int eighths = int(std::lround(std::min(fraction, 1.0) * cells * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + partial[eighths % 8];
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  static const struct {
    double size;
    const char* name;
  } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  for (const auto& unit : units) {
    const double value = seconds / unit.size;
    if (value < 0.9995 && unit.size > 1e-9) continue;
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    char text[48];
    std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit.name);
    return text;
  }
  return "-";
}

Cell Cell::bar(double value, Ink ink) {
  Cell cell("", ink);
  cell.value = value;
  return cell;
}

void Table::add(std::vector<Cell> row) {
  if (row.size() != columns_.size())
    throw std::invalid_argument("table row of " + std::to_string(row.size()) + " cells under " +
                                std::to_string(columns_.size()) + " columns");
  rows_.push_back(std::move(row));
}

std::string Table::text(const Paper& on) const {
  const size_t n = columns_.size();
  std::vector<int> width(n);
  std::vector<double> longest(n, 0.0);
  for (size_t c = 0; c < n; ++c) {
    width[c] = columns_of(columns_[c].title);
    if (columns_[c].kind == Column::Kind::bar) width[c] = std::max(width[c], columns_[c].cells);
    for (const auto& row : rows_) {
      width[c] = std::max(width[c], columns_of(row[c].text));
      if (std::isfinite(row[c].value)) longest[c] = std::max(longest[c], row[c].value);
    }
  }
  // What does not fit loses its bars first; then a text in the last column takes a line of its own.
  const auto columns_in = [&](size_t columns, bool with_bars) {
    int sum = indent_ - 2;
    for (size_t c = 0; c < columns; ++c)
      if (with_bars || columns_[c].kind != Column::Kind::bar) sum += width[c] + 2;
    return sum;
  };
  const bool bars = on.terminal && columns_in(n, true) <= on.width;
  const bool apart = on.terminal && !bars && n > 2 && columns_.back().kind == Column::Kind::left &&
                     columns_in(n, false) > on.width;
  std::string out;
  const auto line = [&](const auto& cell_at) {
    std::string text(size_t(indent_), ' ');
    int gap = 0;
    std::string last;
    for (size_t c = 0; c < n; ++c) {
      if (columns_[c].kind == Column::Kind::bar && !bars) continue;
      if (apart && c + 1 == n) {
        const Cell cell = cell_at(c);
        if (!cell.text.empty())
          last =
              wrapped(std::string(size_t(indent_) + 4, ' ') + inked(cell.text, cell.ink, on), on.width, 0) +
              "\n";
        continue;
      }
      const Cell cell = cell_at(c);
      const int pad = width[c] - columns_of(cell.text);
      const bool right = columns_[c].kind == Column::Kind::right;
      if (cell.text.empty()) {
        gap += width[c] + 2;
        continue;
      }
      text += std::string(size_t(gap + (right ? pad : 0)), ' ') + inked(cell.text, cell.ink, on);
      gap = (right ? 0 : pad) + 2;
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n" + last;
  };
  line([&](size_t c) { return Cell(columns_[c].title, Ink::dim); });
  for (const auto& row : rows_)
    line([&](size_t c) {
      if (columns_[c].kind != Column::Kind::bar || !(longest[c] > 0)) return row[c];
      return Cell(bar(row[c].value / longest[c], columns_[c].cells), row[c].ink);
    });
  return out;
}

Progress::Progress() : terminal_(overwrites_lines(STDERR_FILENO)) {}

void Progress::show(const std::string& line) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K%.*s", 200, line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace klab
