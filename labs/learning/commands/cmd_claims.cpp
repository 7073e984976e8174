// klab claims: lists claims and their verdicts, from the experiments' runs.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <map>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "labs/learning/experiments/experiment.h"

namespace klab::claims_command {
namespace {

using learning::Decided;
using learning::Finding;

struct Options {
  std::vector<std::string> names;
  bool json = false;
};

Ink ink_of(Finding f) {
  return f == Finding::held ? Ink::green : f == Finding::refuted ? Ink::red : Ink::yellow;
}

void print(const std::string& experiment, const Decided& d) {
  fmt::print("{}{:{}}  {}{}\n           {} (klab experiment {})\n",
             inked(name_of(d.finding), ink_of(d.finding)), "", 9 - std::string(name_of(d.finding)).size(),
             d.said, d.source.empty() ? "" : fmt::format(" (said in a {})", d.source), d.because, experiment);
  if (d.measured)
    fmt::print("           {}: {:.3g}, from {:.3g} to {:.3g}\n", d.measured->metric, d.measured->value,
               d.measured->low, d.measured->high);
  std::fflush(stdout);
}

int run(const Options& o) {
  std::map<Finding, int> count;
  nlohmann::json all = nlohmann::json::array();
  Progress progress;
  for (const learning::Experiment* e : learning::experiments_named(o.names)) {
    progress.show("running " + e->name);
    const learning::Outcome outcome = e->run(settings().seed);
    progress.clear();
    for (const Decided& d : outcome.decided) {
      ++count[d.finding];
      if (!o.json) print(e->name, d);
      all.push_back({{"said", d.said},
                     {"finding", name_of(d.finding)},
                     {"because", d.because},
                     {"command", "klab experiment " + e->name}});
      if (!d.source.empty()) all.back()["source"] = d.source;
      if (d.measured)
        all.back()["measured"] = {{"metric", d.measured->metric},
                                  {"low", d.measured->low},
                                  {"value", d.measured->value},
                                  {"high", d.measured->high}};
    }
  }
  if (o.json)
    fmt::print("{}\n", with_schema("claims", nlohmann::json{{"claims", all}}).dump(2));
  else
    fmt::print("\n{} claims: {} held, {} refuted, {} depend on what the line says\n", all.size(),
               count[Finding::held], count[Finding::refuted], count[Finding::depends]);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "claims",
     .summary = "What is said about learning: held, refuted or depends, each by a run",
     .details = "Runs the experiments and prints a word for each claim, the numbers that it rests on, and "
                "the command that shows\nmore. A claim that does not hold is no failure: the exit code is 0.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("name", o->names, learning::experiment_names())->option_text("[NAME ...]");
       add_json(app, o->json, {{"claims", ""}});
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::claims_command
