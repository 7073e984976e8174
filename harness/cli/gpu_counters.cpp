#include "harness/cli/gpu_counters.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/table.h"

namespace klab {
namespace {

/// Cells of a line in which each may stand in quotation marks; a doubled mark inside is one. Empty when a mark is open at
/// the end.
std::vector<std::string> cells_of_line(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else if (line[i] != '\r') {
      cells.back() += line[i];
    }
  }
  if (quoted) cells.clear();
  return cells;
}

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
  static const std::array<std::string, 2> wanted = {"Metric Name", "Metric Value"};
  std::map<std::string, double> sums;
  std::vector<std::string> head;
  std::array<size_t, 2> at{};
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line.starts_with("==")) continue;
    const std::vector<std::string> cells = cells_of_line(line);
    if (head.empty()) {
      if (std::ranges::find(cells, wanted[0]) == cells.end()) continue;  // what the program printed
      head = cells;
      for (size_t k = 0; k < wanted.size(); ++k) {
        at[k] = size_t(std::ranges::find(head, wanted[k]) - head.begin());
        if (at[k] == head.size()) refuse(file, number, "there is no column " + wanted[k]);
      }
      continue;
    }
    if (cells.size() == 1) continue;  // what the program printed
    if (cells.size() != head.size())
      refuse(file, number, fmt::format("{} cells under {} columns: cut?", cells.size(), head.size()));
    sums[cells[at[0]]] += number_in(cells[at[1]], file, number);
  }
  if (head.empty())
    throw std::invalid_argument(
        file +
        ": no line names the columns Metric Name and Metric Value; record it with ncu "
        "--csv --metrics, as klab trace VARIANT --metrics says");
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
    if (c.words.ends_with(" sectors")) rate_of(c.words + " a request", list.size() - 1);
    if (c.words == "bank conflicts") {
      const std::string which = requests->words.substr(0, requests->words.rfind(' '));
      list.back().words = which + " conflicts";
      rate_of(which + " conflicts a request", list.size() - 1);
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
                                 : fmt::format("{} of the counts a request differ", differ));
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
