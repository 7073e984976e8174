#include "harness/cli/gpu_counters.h"

#if defined(__GNUC__) && !defined(__clang__)
// The parser cuts long file names on purpose, and ends them itself.
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#endif
#include <csv.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/report/table.h"

namespace klab {
namespace {

[[noreturn]] void refuse(const std::string& file, int line, const std::string& what) {
  throw std::invalid_argument(fmt::format("{}:{}: {}", file, line, what));
}

/// "1,024" is how it writes a thousand.
double number_in(std::string text, const std::string& file, int line) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !(value >= 0) ||
      !std::isfinite(value))
    refuse(file, line, fmt::format("'{}' in column Metric Value is no count", text));
  return value;
}

}  // namespace

std::map<std::string, double> read_ncu(const std::string& text, const std::string& file) {
  // Of the lines, its table: every cell stands in quotation marks, and what the program printed has none. The numbers
  // are those of the lines in the file.
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
  io::CSVReader<2, io::trim_chars<' ', '\r'>, io::double_quote_escape<',', '"'>> reader(
      file, table.data(), table.data() + table.size());
  const auto line = [&] { return numbers.at(std::min<size_t>(reader.get_file_line(), numbers.size() - 1)); };
  std::map<std::string, double> sums;
  try {
    reader.read_header(io::ignore_extra_column, "Metric Name", "Metric Value");
    std::string metric, value;
    while (reader.read_row(metric, value)) sums[metric] += number_in(value, file, line());
  } catch (const io::error::missing_column_in_header& error) {
    refuse(file, line(), std::string("there is no column ") + error.column_name);
  } catch (const io::error::too_few_columns&) {
    refuse(file, line(), "fewer cells than columns: cut?");
  } catch (const io::error::too_many_columns&) {
    refuse(file, line(), "more cells than columns");
  } catch (const io::error::escaped_string_not_closed&) {
    refuse(file, line(), "a quotation mark is not closed: cut?");
  } catch (const io::error::base& error) {
    refuse(file, line(), error.what());
  }
  return sums;
}

bool ComparedCounter::agrees() const { return std::abs(host - gpu) < 0.05; }

std::vector<ComparedCounter> compare_counters(const CountedRun& run, const std::map<std::string, double>& gpu,
                                              const std::string& file) {
  std::vector<ComparedCounter> list;
  const ComparedCounter* requests = nullptr;
  const auto rate_of = [&](const std::string& words, size_t part) {
    const ComparedCounter& of = list[part];
    const auto by = [](double a, double b) { return b > 0 ? a / b : 0; };
    list.push_back({words, by(of.host, requests->host), by(of.gpu, requests->gpu), true});
  };
  const auto named = named_counters(run);
  list.reserve(2 * named.size());  // `requests` points into it
  for (const NamedCounter& c : named) {
    if (c.ratio) continue;
    const auto at = gpu.find(c.nsight);
    if (at == gpu.end())
      throw std::invalid_argument(
          fmt::format("{} holds no {}: record it with ncu --csv --metrics \"$(klab "
                      "trace {} --metrics)\"",
                      file, c.nsight, run.variant));
    list.push_back({c.words, c.value, at->second, false});
    if (c.words.ends_with(" requests")) requests = &list.back();
    if (requests == nullptr) continue;  // each kind's requests come first
    if (c.words.ends_with(" sectors")) rate_of(c.words + "/request", list.size() - 1);
    if (c.words == "bank conflicts") {
      const std::string which = requests->words.substr(0, requests->words.rfind(' '));
      list.back().words = which + " conflicts";
      rate_of(which + " conflicts/request", list.size() - 1);
    }
  }
  return list;
}

std::string metrics_of(const CountedRun& run) {
  std::string text;
  for (const NamedCounter& c : named_counters(run))
    if (!c.ratio) text += (text.empty() ? "" : ",") + c.nsight;
  return text;
}

std::string compared_text(const std::string& variant, const std::vector<ComparedCounter>& list) {
  Table table({{"counter"}, {"host", Column::Kind::right}, {"GPU", Column::Kind::right}, {""}});
  table.indent(2);
  int differ = 0;
  for (const ComparedCounter& c : list) {
    const auto shown = [&](double v) { return fmt::format(fmt::runtime(c.rate ? "{:.1f}" : "{:.0f}"), v); };
    Cell verdict("");
    if (c.rate) {
      verdict = c.agrees() ? Cell("equal", Ink::green) : Cell("differs", Ink::red);
      differ += c.agrees() ? 0 : 1;
    }
    table.add({c.words, shown(c.host), shown(c.gpu), verdict});
  }
  return fmt::format("{}\n{}{}\n", inked(variant, Ink::bold), table.text(),
                     differ == 0 ? "the GPU counted what the host counts"
                                 : fmt::format("{} of the counts per request differ", differ));
}

nlohmann::ordered_json compared_json(const std::string& variant, const std::vector<ComparedCounter>& list) {
  nlohmann::ordered_json j = {{"variant", variant}, {"counters", nlohmann::ordered_json::array()}};
  for (const ComparedCounter& c : list) {
    j["counters"].push_back({{"counter", c.words}, {"host", c.host}, {"gpu", c.gpu}});
    if (c.rate) j["counters"].back()["equal"] = c.agrees();
  }
  return j;
}

}  // namespace klab
