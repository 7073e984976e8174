// klab compare-fields: trains every kind of field on the same views for the same time, one after the other.
//
// Each is a run of klab train in a process of its own, with a peak memory of its own and a folder like that
// of any run.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/report/page.h"
#include "harness/report/table.h"
#include "harness/report/training.h"
#include "labs/radiance/run/apart.h"
#include "labs/radiance/run/field_counts.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/stop.h"

namespace klab::compare_fields_command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Values {
  std::string scene, out = "compare", plan, backend = "cpu";
  std::vector<std::string> fields;
  double seconds = 60;
  int downscale = 1, holdout = 8;
};

/// Result of a run.
struct Outcome {
  std::string field;
  int64_t steps = 0;
  double seconds = 0, step_ms = 0, samples = 0, bytes = 0, psnr = 0, ssim = 0, frames = 0, memory = 0;
  FieldCounts counts = {};
};

Outcome outcome_of(const std::string& field, const fs::path& folder) {
  const fs::path file = folder / "result.json";
  const json r = read_json_file(file);
  try {
    const json& score = r.at("score");
    Outcome o{.field = field, .steps = r.at("steps").get<int64_t>()};
    const auto steps = double(std::max<int64_t>(1, o.steps));
    o.seconds = r.at("seconds_training").get<double>();
    o.step_ms = 1e3 * o.seconds / steps;
    o.samples = r.at("samples").get<double>() / steps;
    o.bytes = r.at("bytes").get<double>();
    o.psnr = score.at("psnr").get<double>();
    o.ssim = score.at("ssim").get<double>();
    o.frames = 1 / score.at("seconds_per_view").get<double>();
    o.memory = r.at("peak_memory").get<double>();
    o.counts = counts_of(field_settings(field, r.at("config").dump(), file.string()));
    return o;
  } catch (const json::exception&) {
    throw std::runtime_error(file.string() +
                             ": is no result with a score: remove the folder, or see the log next to it");
  }
}

bool train_one(const Values& v, const std::string& field) {
  ApartRun run{.name = field, .scene = v.scene, .given = {}, .seconds = v.seconds};
  run.given = {"--field",     field,
               "--downscale", std::to_string(v.downscale),
               "--holdout",   std::to_string(v.holdout),
               "--seed",      std::to_string(settings().seed),
               "--backend",   v.backend};
  if (settings().threads > 0)
    run.given.insert(run.given.end(), {"--threads", std::to_string(settings().threads)});
  if (!v.plan.empty()) run.given.insert(run.given.end(), {"--plan", v.plan});
  return train_apart(v.out, run);
}

std::vector<std::string> cells_of(const Outcome& o) {
  return {o.field,
          fmt::format("{}", o.steps),
          fmt::format("{:.1f}", o.step_ms),
          fmt::format("{:.0f} {}", o.samples, o.field == "gaussians" ? "splats" : "samples"),
          fmt::format("{:.1f}", o.bytes * 1e-6),
          fmt::format("{:.2f}", o.psnr),
          fmt::format("{:.4f}", o.ssim),
          fmt::format("{:.2f}", o.frames),
          fmt::format("{:.2f}", o.memory * 1e-9),
          fmt::format("{:.0f}", o.counts.flops),
          fmt::format("{:.0f}", o.counts.bytes),
          fmt::format("{:.0f} %", 100 * o.counts.random),
          fmt::format("{}", o.counts.width)};
}

const std::vector<std::string> kHeads = {"field",    "steps",     "ms a step",   "in a step", "MB",
                                         "PSNR, dB", "SSIM",      "frames/s",    "peak GB",   "ops a sample",
                                         "bytes",    "at random", "side by side"};

void write_page(const Values& v, const std::vector<Outcome>& outcomes) {
  Page page("Fields compared: " + v.scene);
  std::vector<std::vector<std::string>> rows;
  std::vector<Curve> curves;
  for (const Outcome& o : outcomes) {
    rows.push_back(cells_of(o));
    const TrainingRun run = read_training((fs::path(v.out) / o.field).string(), 1);
    curves.push_back(curve_of(run, "psnr_batch"));
    curves.back().name = o.field;
  }
  page.table(kHeads, rows);
  page.text(
      "Operations and bytes are those of a whole training step by the contracts of its ops, divided by its "
      "samples: what any rung "
      "has to do. At random: the share of the bytes that is moved entry by entry from a table. Side by side: "
      "independent elements "
      "of the call with most operations, from which lanes, threads and cores take theirs.");
  page.curves(curves, "seconds of training", "PSNR of the batch, dB", true, false,
              "PSNR of the pixels that a step learns from, before it does.");
  for (const Outcome& o : outcomes)
    page.picture((fs::path(v.out) / o.field / "test_0.png").string(), 800, o.field + ", truth to the right");
  write_file(fs::path(v.out) / "comparison.html", page.html());
}

void write_rows(const Values& v, const std::vector<Outcome>& outcomes) {
  std::string text =
      "field,seconds,steps,ms_per_step,samples_per_step,bytes,psnr,ssim,frames_per_second,peak_memory,flops_"
      "per_sample,"
      "bytes_per_sample,random_share,width\n";
  for (const Outcome& o : outcomes)
    text +=
        fmt::format("{},{:.3f},{},{:.4f},{:.1f},{:.0f},{:.4f},{:.5f},{:.4f},{:.0f},{:.1f},{:.1f},{:.4f},{}\n",
                    o.field, o.seconds, o.steps, o.step_ms, o.samples, o.bytes, o.psnr, o.ssim, o.frames,
                    o.memory, o.counts.flops, o.counts.bytes, o.counts.random, o.counts.width);
  write_file(fs::path(v.out) / "comparison.csv", text);
}

int compare(Values& v) {
  if (v.fields.empty()) v.fields = field_names();
  for (const std::string& field : v.fields) require_field(field);
  make_folder(v.out);
  const StopSignals signals;
  for (const std::string& field : v.fields) {
    if (!train_one(v, field)) {
      stop_heeded();
      fmt::print("interrupted: the same command continues from what is in {}\n", v.out);
      return 130;
    }
  }
  std::vector<Outcome> outcomes;
  for (const std::string& field : v.fields) outcomes.push_back(outcome_of(field, fs::path(v.out) / field));
  std::vector<Column> columns;
  for (const std::string& head : kHeads)
    columns.push_back({head, columns.empty() ? Column::Kind::left : Column::Kind::right});
  Table table(columns);
  for (const Outcome& o : outcomes) {
    const std::vector<std::string> cells = cells_of(o);
    table.add({cells.begin(), cells.end()});
  }
  fmt::print("\n{}", table.text());
  write_rows(v, outcomes);
  write_page(v, outcomes);
  const json first = read_json_file(fs::path(v.out) / v.fields.front() / "result.json");
  fmt::print("protocol  {}; {} s of training each\nwritten   {}\n",
             first.at("score").at("protocol").get<std::string>(), v.seconds,
             (fs::path(v.out) / "comparison.html").string());
  return exit_ok;
}

std::function<int()> setup(CLI::App& app) {
  auto v = std::make_shared<Values>();
  app.add_option("scene", v->scene, "a scene's folder, a transforms JSON, or built-in")->required();
  add_number(app, "--seconds", v->seconds, range::seconds, "of training, for each field (default 60)");
  app.add_option("--fields", v->fields, "these only (default: all)")->delimiter(',');
  app.add_option("--out", v->out,
                 "folder for the runs and the comparison (default compare); what is there is kept");
  app.add_option("--plan", v->plan,
                 "rungs of the runs: fastest (default), naive, last or a plan's file, as of klab train");
  add_backend(app, v->backend);
  add_number(app, "--downscale", v->downscale, range::downscale, "shrink all pictures first");
  add_number(app, "--holdout", v->holdout, range::holdout,
             "in scenes without a test set every N-th view is for testing");
  return [v] { return compare(*v); };
}

KLAB_COMMAND({.name = "compare-fields",
              .summary = "Train all kinds of radiance field on a scene for the same time, and compare",
              .setup = setup});

}  // namespace
}  // namespace klab::compare_fields_command
