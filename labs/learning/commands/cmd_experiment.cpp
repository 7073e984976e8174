// klab experiment: decides claims about learning by running them.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/records/atomic_file.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "labs/learning/commands/interruption.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/learning/experiments/figure.h"
#include "labs/learning/network/network_line.h"

namespace klab::experiment_command {
namespace {

using learning::Decided;
using learning::Experiment;
using learning::Outcome;

struct Options {
  std::vector<std::string> names;
  std::string html, figures;
  std::optional<std::string> network;
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

/// Returns the experiments that are to run, and the line of --network. Throws std::invalid_argument if one has no network to
/// replace, or if the network takes no pictures of 28x28 or gives no ten classes.
std::vector<const Experiment*> chosen(const Options& o, std::string& line) {
  const std::vector<const Experiment*> list = learning::experiments_named(o.names);
  if (!o.network) return list;
  std::vector<std::string> with;
  for (const Experiment& e : learning::experiments())
    if (e.run_network != nullptr) with.push_back(e.name);
  for (const Experiment* e : list)
    if (o.names.empty() || e->run_network == nullptr)
      throw std::invalid_argument(fmt::format("--network: {} no network to replace; name one of these: {}",
                                              o.names.empty() ? "most experiments have" : e->name + " has",
                                              fmt::join(with, ", ")));
  const learning::NetworkFile file = learning::network_line(*o.network);
  if (!file.settings.empty())
    throw std::invalid_argument(
        fmt::format("{}: \"{}\": an experiment chooses its own settings, leave it out", *o.network,
                    file.settings.begin()->first));
  if (!learning::is_network_line(file.line))
    throw std::invalid_argument("--network: \"" + file.line +
                                "\" is no list of layers, as \"conv 6 5, pool, 120, 84, 10\"");
  learning::network_of(file.line, {1, 28, 28}, 10);
  line = file.line;
  return list;
}

/// Returns what an interruption of list[at] prints: what is not written, and the command that makes it. A page has all experiments,
/// so it is made from the beginning.
std::string left_of(const Options& o, const std::vector<const Experiment*>& list, size_t at) {
  std::string command = "klab experiment";
  for (size_t i = o.html.empty() ? at : 0; i < list.size(); ++i) command += " " + list[i]->name;
  if (o.network) command += " --network \"" + *o.network + "\"";
  if (!o.figures.empty()) command += " --figures " + o.figures;
  if (!o.html.empty()) command += " --html " + o.html;
  if (settings().seed != 1) command += fmt::format(" --seed {}", settings().seed);
  return fmt::format("interrupted in {}, of which nothing is written; what is left: {}", list[at]->name,
                     command);
}

int run(const Options& o) {
  std::string line;
  const std::vector<const Experiment*> list = chosen(o, line);
  if (!o.html.empty()) require_writable_file(o.html);
  const auto figure = [&o](const Experiment& e) {
    return (std::filesystem::path(o.figures) / (e.name + ".svg")).string();
  };
  if (!o.figures.empty()) {
    std::filesystem::create_directories(o.figures);
    for (const Experiment* e : list) require_writable_file(figure(*e));
  }
  Page page("klab experiment");
  nlohmann::json all = nlohmann::json::array();
  Progress progress;
  for (size_t i = 0; i < list.size(); ++i) {
    const Experiment* e = list[i];
    learning::on_interruption(left_of(o, list, i));
    progress.show("running " + e->name);
    const Outcome outcome = line.empty() ? e->run(settings().seed) : e->run_network(settings().seed, line);
    progress.clear();
    if (o.json)
      all.push_back(as_json(*e, outcome));
    else
      print(*e, outcome);
    add_to(page, *e, outcome);
    if (o.figures.empty()) continue;
    const std::string svg = learning::figure_of(*e, outcome, settings().seed);
    learning::uninterrupted([&] { write_file(figure(*e), svg); });
    if (!o.json) fmt::print("written   {}\n", figure(*e));
  }
  if (o.json) fmt::print("{}\n", with_schema("experiments", nlohmann::json{{"experiments", all}}).dump(2));
  if (o.html.empty()) return exit_ok;
  const std::string html = page.html();
  learning::uninterrupted([&] { write_file(o.html, html); });
  if (!o.json) fmt::print("written   {}\n", o.html);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "experiment",
     .summary = "Claims about learning, decided by a run",
     .details = "Each takes under a minute. Without a name all of them; each claim is held, refuted or "
                "depends, with numbers\n(klab claims lists these only). --html FILE draws the curves.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("name", o->names, learning::experiment_names())->option_text("[NAME ...]");
       app.add_option("--network", o->network,
                      "a network of one's own, on pictures of 28x28 in ten classes, for the experiments "
                      "optimizers and formats: a line of layers as for classify, or a .json file")
           ->option_text("LAYERS");
       app.add_option("--html", o->html, "write plots and tables as a page");
       app.add_option("--figures", o->figures, "write the curves of each as NAME.svg into a folder")
           ->option_text("FOLDER");
       add_json(app, o->json, {{"experiments", ""}});
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::experiment_command
