// klab experiment: decides claims about learning by running them.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/records/atomic_file.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "labs/learning/experiments/experiment.h"

namespace klab::experiment_command {
namespace {

using learning::Decided;
using learning::Experiment;
using learning::Outcome;

struct Options {
  std::vector<std::string> names;
  std::string html;
  bool json = false;
};

void print(const Experiment& e, const Outcome& o) {
  fmt::print("{}\n  {}\n\n", inked(e.name, Ink::bold), e.about);
  std::vector<Column> columns;
  for (const std::string& head : o.heads)
    columns.push_back({head, columns.empty() ? Column::Kind::left : Column::Kind::right});
  Table table(columns);
  table.indent(2);
  for (const auto& row : o.rows) table.add({row.begin(), row.end()});
  fmt::print("{}\n", table.text());
  for (const Decided& d : o.decided)
    fmt::print("  said: {}\n  {}: {}\n\n", d.said, inked(name_of(d.finding), Ink::bold), d.because);
  std::fflush(stdout);
}

nlohmann::json as_json(const Experiment& e, const Outcome& o) {
  nlohmann::json claims = nlohmann::json::array();
  for (const Decided& d : o.decided)
    claims.push_back({{"said", d.said}, {"finding", name_of(d.finding)}, {"because", d.because}});
  return {
      {"experiment", e.name}, {"about", e.about}, {"claims", claims}, {"heads", o.heads}, {"rows", o.rows}};
}

void add_to(Page& page, const Experiment& e, const Outcome& o) {
  page.heading(e.name);
  page.text(e.about + ".");
  // Printed as text, which wraps; cells of a table do not.
  for (const Decided& d : o.decided)
    page.text(fmt::format("“{}” – {}: {}.", d.said, name_of(d.finding), d.because));
  page.table(o.heads, o.rows);
  page.curves(o.curves, o.x, o.y, o.log_x, o.log_y, e.about + ".");
}

int run(const Options& o) {
  if (!o.html.empty()) require_writable_file(o.html);
  Page page("klab experiment");
  nlohmann::json all = nlohmann::json::array();
  Progress progress;
  for (const Experiment* e : learning::experiments_named(o.names)) {
    progress.show("running " + e->name);
    const Outcome outcome = e->run(settings().seed);
    progress.clear();
    if (o.json)
      all.push_back(as_json(*e, outcome));
    else
      print(*e, outcome);
    add_to(page, *e, outcome);
  }
  if (o.json) fmt::print("{}\n", with_schema("experiments", nlohmann::json{{"experiments", all}}).dump(2));
  if (o.html.empty()) return exit_ok;
  write_file(o.html, page.html());
  if (!o.json) fmt::print("written   {}\n", o.html);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "experiment",
     .summary = "What is said about learning, decided by a run",
     .details = "Each takes under a minute. Without a name all of them; each claim is held, refuted or "
                "depends, with numbers\n(klab claims lists these only). --html FILE draws the curves.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("name", o->names, learning::experiment_names())->option_text("[NAME ...]");
       app.add_option("--html", o->html, "write plots and tables as a page");
       add_json(app, o->json, {{"experiments", ""}});
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::experiment_command
