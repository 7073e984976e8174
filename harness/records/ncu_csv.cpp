#include "harness/records/ncu_csv.h"

#if defined(__GNUC__) && !defined(__clang__)
// The parser cuts long file names on purpose, and ends them itself.
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#endif
#include <csv.h>
#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "harness/records/input.h"

namespace klab {
namespace {

[[noreturn]] void refuse_line(const std::string& file, int line, const std::string& what) {
  throw std::invalid_argument(fmt::format("{}:{}: {}", file, line, what));
}

/// Parses a metric's value. Thousands are written as "1,024".
double metric_value(std::string text, const std::string& file, int line) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !(value >= 0) ||
      !std::isfinite(value))
    refuse_line(file, line, fmt::format("'{}' in column Metric Value is no count", excerpt(text)));
  return value;
}

constexpr const char* kAnnounced = "klab_variant_begins";

}  // namespace

std::string AnnouncedVariant::line() const {
  return fmt::format("{} {}: {} at {}", kAnnounced, number, variant, shape);
}

std::vector<AnnouncedVariant> announced_in(const std::string& text) {
  std::vector<AnnouncedVariant> list;
  std::istringstream in(text);
  for (std::string said; std::getline(in, said);) {
    if (!said.starts_with(std::string(kAnnounced) + " ")) continue;
    const size_t colon = said.find(": "), at = said.find(" at ");
    if (colon == std::string::npos || at == std::string::npos || at < colon) continue;
    list.push_back({.number = std::atoi(said.c_str() + std::strlen(kAnnounced)),
                    .variant = said.substr(colon + 2, at - colon - 2),
                    .shape = said.substr(at + 4)});
  }
  return list;
}

std::vector<NcuLaunch> launches_between(const std::vector<NcuLaunch>& all, int number) {
  std::vector<NcuLaunch> own;
  bool inside = false;
  for (const NcuLaunch& l : all) {
    if (l.kernel.starts_with(kAnnounced)) {
      const size_t digit = l.grid.find_first_of("0123456789");  // "(3, 1, 1)"
      inside = digit != std::string::npos && std::atoi(l.grid.c_str() + digit) == number;
    } else if (inside) {
      own.push_back(l);
    }
  }
  return own;
}

std::map<std::string, double> sums_of(const std::vector<NcuLaunch>& launches) {
  std::map<std::string, double> sums;
  for (const NcuLaunch& l : launches)
    for (const auto& [metric, value] : l.metrics) sums[metric] += value;
  return sums;
}

std::map<std::string, double> read_ncu(const std::string& text, const std::string& file) {
  return sums_of(read_ncu_launches(text, file));
}

std::vector<NcuLaunch> read_ncu_launches(const std::string& text, const std::string& file) {
  // Keep only the lines of the table: all its cells are quoted, while the program's own output is not.
  // `numbers` maps its lines to lines of the file.
  std::string table;
  std::vector<int> numbers = {0};
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const bool head = table.empty() && line.find("\"Metric Name\"") != std::string::npos;
    if (!head && (table.empty() || !line.starts_with('"'))) continue;
    table += line + "\n";
    numbers.push_back(number);
  }
  if (table.empty())
    throw std::invalid_argument(
        file +
        ": no line names the columns Metric Name and Metric Value; record it with ncu "
        "--csv --metrics, as klab trace VARIANT --metrics says");
  io::CSVReader<5, io::trim_chars<' ', '\r'>, io::double_quote_escape<',', '"'>> reader(
      file, table.data(), table.data() + table.size());
  const auto line = [&] { return numbers.at(std::min<size_t>(reader.get_file_line(), numbers.size() - 1)); };
  std::vector<NcuLaunch> launches;
  try {
    reader.read_header(io::ignore_extra_column | io::ignore_missing_column, "Metric Name", "Metric Value",
                       "ID", "Kernel Name", "Grid Size");
    if (!reader.has_column("Metric Value")) refuse_line(file, line(), "there is no column Metric Value");
    std::string metric, value, id, kernel, grid, last;
    while (reader.read_row(metric, value, id, kernel, grid)) {
      // Missing columns leave these unchanged.
      if (launches.empty() || id != last) launches.push_back({kernel, grid, {}});
      last = id;
      if (value != "n/a") launches.back().metrics[metric] += metric_value(value, file, line());
    }
  } catch (const io::error::missing_column_in_header& error) {
    refuse_line(file, line(), std::string("there is no column ") + error.column_name);
  } catch (const io::error::too_few_columns&) {
    refuse_line(file, line(), "fewer cells than columns: cut?");
  } catch (const io::error::too_many_columns&) {
    refuse_line(file, line(), "more cells than columns");
  } catch (const io::error::escaped_string_not_closed&) {
    refuse_line(file, line(), "a quotation mark is not closed: cut?");
  } catch (const io::error::base& error) {
    refuse_line(file, line(), error.what());
  }
  return launches;
}

}  // namespace klab
