#include "harness/report/side_by_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "harness/report/html_parts.h"
#include "harness/report/report.h"
#include "harness/report/table.h"
#include "harness/report/text_cells.h"

namespace klab {
namespace {

std::string factor_text(const RowOfRuns& row) {
  const std::optional<double> factor = row.factor();
  return factor ? three_digits(*factor) + "×" : "";
}

std::string time_text(const std::optional<double>& seconds) { return seconds ? seconds_text(*seconds) : ""; }

/// Returns how far a row moved from its first time to its last, in either direction.
double moved(const RowOfRuns& row) {
  double first = 0, last = 0;
  for (const auto& seconds : row.seconds) {
    if (!seconds) continue;
    if (first == 0) first = *seconds;
    last = *seconds;
  }
  return first > 0 ? std::abs(std::log(last / first)) : 0;
}

std::vector<std::string> heads_of(const SideBySide& runs) {
  std::vector<std::string> heads = {"variant", "size"};
  heads.insert(heads.end(), runs.names.begin(), runs.names.end());
  heads.push_back(runs.names.front() + " over " + runs.names.back());
  return heads;
}

/// Returns a row's name for a legend, without the number of threads if all rows have the same, and cut where it is longer than a plot
/// is wide.
std::string legend_name(const RowOfRuns& row, const std::vector<const RowOfRuns*>& all) {
  constexpr size_t kMostLetters = 64;
  const std::string threads = row.size.substr(std::min(row.size.rfind(", "), row.size.size()));
  const bool shared =
      std::ranges::all_of(all, [&](const RowOfRuns* other) { return other->size.ends_with(threads); });
  std::string name = row.variant + ", " + row.size;
  if (shared) name.resize(name.size() - threads.size());
  return name.size() <= kMostLetters ? name : name.substr(0, kMostLetters - 1) + "…";
}

}  // namespace

std::optional<double> RowOfRuns::factor() const {
  if (!seconds.front() || !seconds.back()) return std::nullopt;
  return *seconds.front() / *seconds.back();
}

std::string name_of_run(const Recording& run, const std::string& file) {
  constexpr size_t kShort = 10;
  std::set<std::string> commits;
  for (const Row& row : run.rows) commits.insert(row.commit);
  if (commits.size() != 1 || commits.begin()->empty()) return file;
  const std::string& commit = *commits.begin();
  const bool dirty = commit.ends_with("-dirty");
  return commit.substr(0, std::min(commit.size(), kShort)) +
         (dirty && commit.size() > kShort ? "-dirty" : "");
}

SideBySide side_by_side(const std::vector<NamedRun>& runs) {
  if (runs.size() < 2) throw std::invalid_argument("--side-by-side: name the rows of two runs at least");
  SideBySide out;
  std::map<std::string, int> named;
  for (const NamedRun& run : runs) {
    const int times = ++named[run.name];
    out.names.push_back(times == 1 ? run.name : fmt::format("{} ({})", run.name, times));
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < runs.size(); ++i)
    for (const Row& row : merged_sessions(runs[i].run).rows) {
      const auto [at, fresh] = places.try_emplace(
          row.variant + "|" + row.shape + "|" + std::to_string(row.threads), out.rows.size());
      if (fresh)
        out.rows.push_back(
            {row.variant, fmt::format("{}, {} thread{}", row.size, row.threads, row.threads == 1 ? "" : "s"),
             std::vector<std::optional<double>>(runs.size())});
      if (!row.seconds.empty() && row.error.empty()) out.rows[at->second].seconds[i] = row.time.value;
    }
  std::erase_if(out.rows, [](const RowOfRuns& row) {
    return std::ranges::none_of(row.seconds, [](const auto& s) { return s.has_value(); });
  });
  return out;
}

std::string side_by_side_html(const SideBySide& runs) {
  HtmlTable table("runs", heads_of(runs));
  table.keep({0, runs.names.size() + 1, runs.names.size() + 2});
  for (const RowOfRuns& row : runs.rows) {
    std::vector<HtmlCell> cells = {HtmlCell::code(row.variant), HtmlCell::text(row.size)};
    for (const auto& seconds : row.seconds)
      cells.push_back(seconds ? HtmlCell::number(*seconds, seconds_text(*seconds)) : HtmlCell::text(""));
    const std::optional<double> factor = row.factor();
    cells.push_back(factor ? HtmlCell::number(*factor, factor_text(row)) : HtmlCell::text(""));
    table.add(std::move(cells));
  }
  return fmt::format(
      "<section id=\"runs\"><h2>{} runs side by side</h2>\n<p class=\"note\">Median times. The last column "
      "says how "
      "many times faster {} is than {}. A cell is empty where a run did not time the row. These runs were "
      "not "
      "interleaved: klab regress decides whether a difference is one.</p>\n{}</section>\n",
      runs.names.size(), escaped(runs.names.back()), escaped(runs.names.front()), table.html(true));
}

std::string side_by_side_markdown(const SideBySide& runs) {
  std::string text, line = "|---|---|";
  for (const std::string& head : heads_of(runs)) text += "| " + head + " ";
  for (size_t i = 0; i <= runs.names.size(); ++i) line += "--:|";
  text += "|\n" + line + "\n";
  for (const RowOfRuns& row : runs.rows) {
    text += fmt::format("| `{}` | {} |", row.variant, row.size);
    for (const auto& seconds : row.seconds) text += " " + time_text(seconds) + " |";
    text += " " + factor_text(row) + " |\n";
  }
  return text;
}

std::string side_by_side_csv(const SideBySide& runs) {
  std::string text = "variant,size";
  for (const std::string& name : runs.names) text += "," + csv_cell("seconds " + name);
  text += ",factor\n";
  for (const RowOfRuns& row : runs.rows) {
    text += csv_cell(row.variant) + "," + csv_cell(row.size);
    for (const auto& seconds : row.seconds) text += seconds ? fmt::format(",{:.6g}", *seconds) : ",";
    const std::optional<double> factor = row.factor();
    text += factor ? fmt::format(",{:.6g}\n", *factor) : ",\n";
  }
  return text;
}

std::string over_runs(const SideBySide& runs, Plots& plots) {
  constexpr size_t kMostLines = 10;
  std::vector<const RowOfRuns*> rows;
  for (const RowOfRuns& row : runs.rows)
    if (std::ranges::count_if(row.seconds, [](const auto& s) { return s.has_value(); }) > 1)
      rows.push_back(&row);
  std::ranges::stable_sort(rows, std::greater<>(), [](const RowOfRuns* row) { return moved(*row); });
  rows.resize(std::min(rows.size(), kMostLines));
  std::vector<Curve> curves;
  for (const RowOfRuns* row : rows) {
    Curve curve{legend_name(*row, rows), {}};
    double first = 0;
    for (size_t i = 0; i < row->seconds.size(); ++i) {
      if (!row->seconds[i]) continue;
      if (first == 0) first = *row->seconds[i];
      curve.points.emplace_back(double(i + 1), *row->seconds[i] / first);
    }
    curves.push_back(std::move(curve));
  }
  return plots.over_names(curves, runs.names, "times the first run");
}

}  // namespace klab
