// klab scaling: measures training with two processes, and models up to 64.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/records/atomic_file.h"
#include "harness/report/page.h"
#include "harness/report/table.h"
#include "labs/18_several_processes/train/measured.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/stop.h"

namespace klab::scaling_command {
namespace {

namespace fs = std::filesystem;
using scaling::Gradient;
using scaling::Link;
using scaling::Run;
using Way = Exchange::Way;

constexpr Range kLatencyUs{0, 1e6}, kBandwidthGb{1e-6, 1e5};
constexpr int64_t kMostRanks = 64;
constexpr std::pair<const char*, Way> kWays[] = {
    {"dense", Way::dense}, {"sharded", Way::sharded}, {"touched", Way::touched}};

struct Values {
  scaling::What what{.out = "scaling"};
  std::string out = "scaling", messages;
  double latency = 0, bandwidth = 0;  // us, GB/s; 0: as measured
  bool latency_given = false;
};

/// All measurements, and the model's parameters derived from them.
struct Measured {
  std::vector<Run> runs;
  std::vector<scaling::Message> messages;
  Link between, link;  // as measured; as used in the model
  Gradient gradient;
  scaling::Step step;
  double batch = 0;  // samples in a step of one rank

  const Run& run(const std::string& name) const {
    return *std::ranges::find(runs, name, [](const Run& r) { return r.setup.name; });
  }
  double samples(const Run& r) const { return r.samples_per_second * r.seconds; }
};

Measured measure(const Values& v) {
  Measured m;
  Progress progress;
  progress.show("messages between two ranks");
  m.messages = scaling::measure_messages(v.what.out);
  const std::vector<scaling::Setup> setups = scaling::setups();
  for (size_t k = 0; k < setups.size(); ++k) {
    progress.show(fmt::format("training {} of {}: {}", k + 1, setups.size(), setups[k].name));
    m.runs.push_back(scaling::train(v.what, setups[k]));
  }
  progress.clear();
  m.between = scaling::link_from(m.messages.front().bytes, m.messages.front().seconds,
                                 m.messages.back().bytes, m.messages.back().seconds);
  m.link = m.between;
  if (v.latency_given) m.link.latency = 1e-6 * v.latency;
  if (v.bandwidth > 0) m.link.bandwidth = 1e9 * v.bandwidth;
  const Run &whole = m.run("one"), &half = m.run("one_half"), &dense = m.run("strong_dense"),
            &touched = m.run("strong_touched");
  m.batch = m.samples(whole);
  // The line through two points, seconds over samples.
  m.step.per_sample = std::max(0.0, (whole.seconds - half.seconds) / (m.batch - m.samples(half)));
  m.step.optimizer = whole.optimizer;
  m.step.grid = whole.grid;
  m.step.fixed = std::max(0.0, whole.seconds - whole.optimizer - whole.grid - m.batch * m.step.per_sample);
  m.gradient.bytes = dense.bytes_sent;  // a rank of two sends 2·(2-1)/2 times the bytes
  m.gradient.touched = touched.touched;
  // Two ranks touch the share 1 - (1-touched)^(2-alike).
  if (touched.touched > 0 && touched.touched < 1 && touched.touched_by_any < 1)
    m.gradient.alike =
        std::clamp(2 - std::log(1 - touched.touched_by_any) / std::log(1 - touched.touched), 0.0, 1.0);
  return m;
}

double modeled(const Measured& m, Way way, int64_t ranks, bool strong, const Link& link) {
  return scaling::seconds_of_step(way, ranks, strong ? m.batch / double(ranks) : m.batch, m.step, m.gradient,
                                  link);
}

/// Returns the time of one rank over that of N, at the same batch (strong) or at the same batch for each rank
/// (weak).
double efficiency(double one, double seconds, int64_t ranks, bool strong) {
  return one / seconds / (strong ? double(ranks) : 1.0);
}

const std::vector<std::string> kRunHeads = {"run",      "ranks",      "threads each", "batch",
                                            "exchange", "ms a step",  "M samples/s",  "efficiency",
                                            "MB sent",  "ms sharing", "ms, modeled"};

std::vector<std::vector<std::string>> run_rows(const Measured& m) {
  std::vector<std::vector<std::string>> rows;
  for (const Run& r : m.runs) {
    const bool two = r.setup.ranks > 1, strong = r.setup.batch == 1;
    rows.push_back(
        {r.setup.name, std::to_string(r.setup.ranks), std::to_string(r.setup.threads),
         fmt::format("{:.0f}", m.samples(r)), two ? r.setup.exchange : "none",
         fmt::format("{:.2f}", 1e3 * r.seconds), fmt::format("{:.3f}", 1e-6 * r.samples_per_second),
         two ? fmt::format("{:.2f}", efficiency(m.run("one").seconds, r.seconds, 2, strong)) : "-",
         two ? fmt::format("{:.3f}", 1e-6 * r.bytes_sent) : "-",
         two ? fmt::format("{:.2f}", 1e3 * r.sharing) : "-",
         two ? fmt::format("{:.2f}",
                           1e3 * modeled(m, Exchange::way_named(r.setup.exchange), 2, strong, m.between))
             : "-"});
  }
  return rows;
}

const std::vector<std::string> kModelHeads = {"ranks",           "exchange",          "MB sent",
                                              "ms sharing",      "strong: ms a step", "efficiency",
                                              "weak: ms a step", "efficiency"};

std::vector<std::vector<std::string>> model_rows(const Measured& m) {
  std::vector<std::vector<std::string>> rows;
  const double one = modeled(m, Way::dense, 1, true, m.link);
  for (int64_t ranks = 1; ranks <= kMostRanks; ranks *= 2)
    for (const auto& [name, way] : kWays) {
      if (ranks == 1 && way != Way::dense) continue;
      const double strong = modeled(m, way, ranks, true, m.link),
                   weak = modeled(m, way, ranks, false, m.link);
      rows.push_back(
          {std::to_string(ranks), ranks == 1 ? "none" : name,
           fmt::format("{:.3f}", 1e-6 * scaling::bytes_sent(way, ranks, m.gradient)),
           fmt::format("{:.3f}", 1e3 * scaling::seconds_to_share(way, ranks, m.gradient, m.link)),
           fmt::format("{:.3f}", 1e3 * strong), fmt::format("{:.3f}", efficiency(one, strong, ranks, true)),
           fmt::format("{:.3f}", 1e3 * weak), fmt::format("{:.3f}", efficiency(one, weak, ranks, false))});
    }
  return rows;
}

std::string csv_of(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows) {
  std::string text = fmt::format("{}\n", fmt::join(heads, ","));
  for (const auto& row : rows) text += fmt::format("{}\n", fmt::join(row, ","));
  return text;
}

void print_table(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows) {
  std::vector<Column> columns;
  for (const std::string& head : heads)
    columns.push_back({head, columns.empty() ? Column::Kind::left : Column::Kind::right});
  Table table(columns);
  for (const auto& row : rows) table.add({row.begin(), row.end()});
  fmt::print("{}\n", table.text());
}

std::string words(const Measured& m) {
  return fmt::format(
      "A message takes {} and 1 s for {:.2f} GB; the model's link has {} and {:.2f} GB/s. In a step of one "
      "rank {:.2f} ms do "
      "not shrink with the batch or with ranks, the table's optimizer takes {:.2f} ms, the occupancy grid "
      "{:.2f} ms, "
      "a million samples {:.1f} ms. The gradient has "
      "{:.3f} MB; a rank touches {:.0f} % of its blocks, two together {:.0f} %.",
      seconds_text(m.between.latency), 1e-9 * m.between.bandwidth, seconds_text(m.link.latency),
      1e-9 * m.link.bandwidth, 1e3 * m.step.fixed, 1e3 * m.step.optimizer, 1e3 * m.step.grid,
      1e9 * m.step.per_sample, 1e-6 * m.gradient.bytes, 100 * m.gradient.touched,
      100 * m.gradient.touched_by_any(2));
}

/// Returns the modeled curves over the logarithm of the number of ranks, then the measured points of two.
std::vector<Curve> efficiency_curves(const Measured& m, bool strong) {
  std::vector<Curve> curves, measured;
  const double one = modeled(m, Way::dense, 1, true, m.link);
  for (const auto& [name, way] : kWays) {
    Curve curve{name, {}};
    for (int64_t ranks = 1; ranks <= kMostRanks; ranks *= 2)
      curve.points.emplace_back(std::log2(double(ranks)),
                                efficiency(one, modeled(m, way, ranks, strong, m.link), ranks, strong));
    curves.push_back(std::move(curve));
    const Run& r = m.run((strong ? "strong_" : "weak_") + std::string(name));
    measured.push_back({std::string(name) + ", measured",
                        {{0, 1}, {1, efficiency(m.run("one").seconds, r.seconds, 2, strong)}}});
  }
  curves.insert(curves.end(), measured.begin(), measured.end());
  return curves;
}

void write_page(const Values& v, const Measured& m) {
  Page page("Several processes: " + v.what.scene);
  page.text(words(m));
  page.heading("Measured");
  page.table(kRunHeads, run_rows(m));
  page.heading("Modeled");
  page.table(kModelHeads, model_rows(m));
  for (const bool strong : {true, false})
    page.curves(efficiency_curves(m, strong), "logarithm of the number of ranks to base 2", "efficiency",
                false, false,
                strong ? "Strong scaling: the same batch on more ranks, modeled, and measured with two."
                       : "Weak scaling: the same batch a rank, modeled, and measured with two.");
  Curve messages{"measured", {}}, line{"latency + bytes/bandwidth", {}};
  for (const scaling::Message& message : m.messages) {
    messages.points.emplace_back(message.bytes, message.seconds);
    line.points.emplace_back(message.bytes, m.between.latency + message.bytes / m.between.bandwidth);
  }
  page.curves({messages, line}, "bytes of a message", "seconds", true, true, "A message between two ranks.");
  write_file(v.what.out / "scaling.html", page.html());
}

/// Rank 0 writes; both measure.
int messages(const std::string& file) {
  nlohmann::json all = nlohmann::json::array();
  for (const scaling::Message& m : scaling::messages_between()) all.push_back({m.bytes, m.seconds});
  if (Ranks::here().first()) write_file(file, all.dump() + "\n");
  Ranks::here().wait_for_all();
  return exit_ok;
}

int run(Values& v, bool latency_given) {
  if (!v.messages.empty()) return messages(v.messages);
  v.latency_given = latency_given;
  v.what.out = v.out;
  v.what.seed = settings().seed;
  scaling::require_mpi();
  make_folder(v.what.out);
  const StopSignals signals;
  const Measured m = measure(v);
  fmt::print("{}\n\n", words(m));
  print_table(kRunHeads, run_rows(m));
  print_table(kModelHeads, model_rows(m));
  const double ratio = m.run("strong_dense").samples_per_second / m.run("one_two_threads").samples_per_second;
  fmt::print("two ranks of one thread reach {:.2f} of the samples per second of one rank with two threads\n",
             ratio);
  write_file(v.what.out / "scaling.csv", csv_of(kRunHeads, run_rows(m)));
  write_file(v.what.out / "model.csv", csv_of(kModelHeads, model_rows(m)));
  write_page(v, m);
  fmt::print("written   {}\n", (v.what.out / "scaling.html").string());
  return exit_ok;
}

std::function<int()> setup(CLI::App& app) {
  auto v = std::make_shared<Values>();
  app.add_option("scene", v->what.scene, "folder with transforms JSON, or \"built-in\" (default)");
  app.add_option("--out", v->out,
                 "folder for the runs and what comes of them (default scaling); what is there is kept");
  app.add_option("--config", v->what.config, "JSON file with numbers of the recipe");
  app.add_option("--plan", v->what.plan, "best (default), naive, or a JSON file");
  add_number(app, "--steps", v->what.steps, range::steps, "of each training (default 60)");
  add_number(app, "--downscale", v->what.downscale, range::downscale, "shrink the pictures by this factor");
  auto* latency =
      add_number(app, "--latency", v->latency, kLatencyUs,
                 "microseconds of a message, for the model (default: as measured between two ranks here)");
  add_number(app, "--bandwidth", v->bandwidth, kBandwidthGb,
             "GB/s between ranks, for the model (default: as measured)");
  app.add_option("--messages", v->messages, "by mpirun -n 2: times messages, and writes that to this file");
  return [v, latency] { return run(*v, latency->count() > 0); };
}

KLAB_COMMAND({.name = "scaling",
              .summary = "Train with one and two processes, and model up to 64",
              .setup = setup});

}  // namespace
}  // namespace klab::scaling_command
