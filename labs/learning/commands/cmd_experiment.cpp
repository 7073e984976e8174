// klab experiment: what is said about learning, decided by a run.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/core/select.h"
#include "harness/records/atomic_file.h"
#include "harness/report/table.h"
#include "labs/learning/experiments/experiment.h"

namespace klab::experiment_command {
namespace {

using learning::Experiment;
using learning::Outcome;

struct Options {
  std::vector<std::string> names;
  std::string html;
  bool json = false;
};

std::vector<const Experiment*> chosen(const std::vector<std::string>& names) {
  std::vector<const Experiment*> list;
  std::vector<std::string> known;
  for (const Experiment& e : learning::experiments()) known.push_back(e.name);
  for (const Experiment& e : learning::experiments())
    if (names.empty() || std::ranges::find(names, e.name) != names.end()) list.push_back(&e);
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      throw NotFound(not_found_text("experiment", name, known));
  return list;
}

void print(const Experiment& e, const Outcome& o) {
  fmt::print("{}\n  {}\n\n", inked(e.name, Ink::bold), e.claim);
  std::vector<Column> columns;
  for (const std::string& head : o.heads)
    columns.push_back({head, columns.empty() ? Column::Kind::left : Column::Kind::right});
  Table table(columns);
  table.indent(2);
  for (const auto& row : o.rows) table.add({row.begin(), row.end()});
  fmt::print("{}\n  {}: {}\n\n", table.text(), inked(name_of(o.finding), Ink::bold), o.because);
  std::fflush(stdout);
}

int run(const Options& o) {
  if (!o.html.empty()) require_writable_file(o.html);
  Page page("klab experiment");
  nlohmann::json all = nlohmann::json::array();
  Progress progress;
  for (const Experiment* e : chosen(o.names)) {
    progress.show("running " + e->name);
    const Outcome outcome = e->run(settings().seed);
    progress.clear();
    if (o.json)
      all.push_back({{"experiment", e->name},
                     {"claim", e->claim},
                     {"finding", name_of(outcome.finding)},
                     {"because", outcome.because},
                     {"heads", outcome.heads},
                     {"rows", outcome.rows}});
    else
      print(*e, outcome);
    page.heading(e->name);
    page.text(fmt::format("Said: {}. {}: {}.", e->claim, name_of(outcome.finding), outcome.because));
    page.table(outcome.heads, outcome.rows);
    if (!outcome.curves.empty())
      page.curves(outcome.curves, outcome.x, outcome.y, false, outcome.log_y, e->claim);
  }
  if (o.json) fmt::print("{}\n", all.dump(2));
  if (o.html.empty()) return exit_ok;
  write_file(o.html, page.html());
  if (!o.json) fmt::print("written   {}\n", o.html);
  return exit_ok;
}

KLAB_COMMAND({.name = "experiment",
              .summary = "What is said about learning, decided by a run",
              .details = "Each takes under a minute. Without a name all of them; the finding is held, "
                         "refuted or depends, with numbers.",
              .setup = [](CLI::App& app) -> std::function<int()> {
                auto o = std::make_shared<Options>();
                app.add_option(
                       "name", o->names,
                       "accumulation, batch_statistics, dropout, features, initialization, norms, quadratic")
                    ->option_text("[NAME ...]");
                app.add_option("--html", o->html, "write plots and tables as a page");
                app.add_flag("--json", o->json, "for programs");
                return [o] { return run(*o); };
              }});

}  // namespace
}  // namespace klab::experiment_command
