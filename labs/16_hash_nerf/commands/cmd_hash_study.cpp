// klab hash-study: studies the hash table. Runs klab train once for each variation and changes nothing else.
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/report/page.h"
#include "harness/timing/machine.h"
#include "labs/radiance/field/settings.h"
#include "labs/radiance/run/apart.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/lru.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/train/trainer.h"
#include "labs/radiance/tune/study_ways.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"

namespace klab::hash_study_command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Values {
  std::string scene, out = "hash-study", config, backend = "cpu", precision = "f32", plan;
  std::vector<std::string> groups;
  double seconds = 0;
  int64_t steps = 0;
  int downscale = 1, holdout = 8;
};

/// Result of a run.
struct Outcome {
  Way way;
  int64_t log2 = 0, levels = 0;
  double entries = 0, alone = 0, step_ms = 0, psnr = 0,
         ssim = 0;  // entries in use; alone: points of the finest level with an entry to themselves
  double rate = 1;  // learning rate of the table over that of the networks
};

Outcome outcome_of(const Way& way, const fs::path& folder) {
  const fs::path file = folder / "result.json";
  const json r = read_json_file(file);
  try {
    Outcome o{.way = way};
    o.log2 = r.at("config").at("log2_table").get<int64_t>();
    o.levels = r.at("config").at("levels").get<int64_t>();
    o.rate = r.at("config").at("table_rate").get<double>();
    const json& levels = r.value("levels", json::array());  // a GPU's run does not count them
    for (const json& level : levels) o.entries += level.at("entries").get<double>();
    o.alone = levels.empty() ? std::nan("") : levels.back().at("alone").get<double>();
    o.step_ms = 1e3 * r.at("seconds_training").get<double>() /
                double(std::max<int64_t>(1, r.at("steps").get<int64_t>()));
    o.psnr = r.at("score").at("psnr").get<double>();
    o.ssim = r.at("score").at("ssim").get<double>();
    return o;
  } catch (const json::exception&) {
    throw std::runtime_error(
        file.string() +
        ": is no result with levels and a score: remove the folder, or see the log next to it");
  }
}

bool train_way(const Values& v, const Config& base, const Way& way) {
  json config = json::parse(config_to_json(base));
  config.update(way.changes);
  const fs::path file = fs::path(v.out) / (way.name + ".json");
  config_from_json(config.dump(), file.string());  // refuses contradictions
  write_file(file, config.dump(2) + "\n");
  const auto steps = v.steps > 0 ? std::max<int64_t>(1, std::llround(double(v.steps) * way.steps)) : 0;
  ApartRun run{.name = way.name, .scene = v.scene, .given = {}, .seconds = v.seconds, .steps = steps};
  run.given = {"--config",    file.string(),
               "--downscale", std::to_string(v.downscale),
               "--holdout",   std::to_string(v.holdout),
               "--seed",      std::to_string(settings().seed),
               "--backend",   v.backend,
               "--precision", v.precision};
  if (!v.plan.empty()) run.given.insert(run.given.end(), {"--plan", v.plan});
  if (settings().threads > 0)
    run.given.insert(run.given.end(), {"--threads", std::to_string(settings().threads)});
  return train_apart(v.out, run);
}

const std::vector<std::string> kHeads = {"",         "entries",   "finest alone", "ms a step",
                                         "PSNR, dB", "over base", "SSIM"};

std::vector<std::string> cells_of(const Outcome& o, double base) {
  return {o.way.name,
          o.entries > 0 ? fmt::format("{:.0f}", o.entries) : "-",
          o.entries > 0 ? fmt::format("{:.1f} %", 100 * o.alone) : "-",
          fmt::format("{:.1f}", o.step_ms),
          fmt::format("{:.2f}", o.psnr),
          fmt::format("{:+.2f}", o.psnr - base),
          fmt::format("{:.4f}", o.ssim)};
}

/// Hit shares of the reads of one level: in simulated caches, and in this machine's.
struct CacheRow {
  int64_t points_per_axis = 0, bytes = 0;
  std::vector<double> lru;  // by capacity
  CacheCounts counts;
};

struct CacheStudy {
  std::vector<int64_t> bytes;  // of the caches
  std::vector<CacheRow> rows;
  int64_t samples = 0;
};

std::vector<int64_t> sizes_of_caches() {
  std::vector<int64_t> bytes;
  for (const CacheLevel& c : this_machine().caches) bytes.push_back(c.bytes);
  if (bytes.empty()) bytes = {32 << 10, 1 << 20};  // the system does not say
  return bytes;
}

CacheRow cache_row_of(const Model& model, const TableLevel& level, const std::vector<float>& positions,
                      const std::vector<int64_t>& capacities) {
  const Config& c = model.config;
  const auto n = int64_t(positions.size() / 3);
  const int64_t entry_bytes = 4 * c.features;
  CacheRow row{
      .points_per_axis = level.points, .bytes = level.entries * entry_bytes, .lru = {}, .counts = {}};
  std::vector<uint32_t> lines;
  const int corners = c.interpolation == "nearest" ? 1 : 8;
  for (int64_t i = 0; i < n; ++i)
    for (int corner = 0; corner < corners; ++corner) {
      uint32_t at[3];
      for (int d = 0; d < 3; ++d)
        at[d] = uint32_t(positions[size_t(d * n + i)] * level.scale + 0.5F) + uint32_t(corner >> d & 1);
      lines.push_back(table_index(level, hash_kind(c.hash), at[0], at[1], at[2]) /
                      uint32_t(std::max<int64_t>(1, 64 / entry_bytes)));
    }
  row.lru = lru_hit_shares(lines, capacities);
  const int64_t size = level.entries;
  const HashtableShape shape = {.n = n,
                                .levels = 1,
                                .features = c.features,
                                .entries = size,
                                .hash = hash_kind(c.hash),
                                .blend = blend_kind(c.interpolation)};
  std::vector<float> out(size_t(c.features * n));
  const auto look_up = [&] {
    call<HashtableFwd>(*find_variant("hashtable_fwd.cpu.01_naive"),
                       {.shape = shape,
                        .positions = positions.data(),
                        .scales = &level.scale,
                        .sizes = &size,
                        .table = model.of(Part::table).data() + level.offset * c.features,
                        .features = out.data()});
  };
  look_up();  // a warm-up before it counts
  row.counts = count_cache(look_up);
  return row;
}

CacheStudy study_cache(const Values& v, const fs::path& folder) {
  const json result = read_json_file(folder / "result.json");
  const Config config = config_from_json(result.at("config").dump(), (folder / "result.json").string());
  const Scene scene = load_scene(v.scene, {.downscale = v.downscale, .holdout = v.holdout});
  CallTimes times = times_here();
  const Plan plan = Plan::named("naive", training_calls(config, scene.cascades), times);
  Trainer trainer(scene, config, plan, settings().seed);
  trainer.restore(TensorFile(folder / "checkpoint.safetensors"));
  const std::vector<float> positions = trainer.batch_positions();
  CacheStudy study{.bytes = sizes_of_caches(), .rows = {}, .samples = int64_t(positions.size() / 3)};
  std::vector<int64_t> capacities;
  for (const int64_t bytes : study.bytes) capacities.push_back(bytes / 64);
  const Model& model = trainer.model();
  for (const TableLevel& level : table_levels(config.levels, model.scales.data(), model.sizes.data()))
    study.rows.push_back(cache_row_of(model, level, positions, capacities));
  return study;
}

std::vector<std::string> cache_heads(const CacheStudy& s) {
  std::vector<std::string> heads = {"points an axis", "KB"};
  for (const int64_t bytes : s.bytes) heads.push_back(fmt::format("LRU {} KB", bytes >> 10));
  heads.insert(heads.end(), {"first cache has", "misses all caches"});
  return heads;
}

std::vector<std::string> cache_cells(const CacheRow& r) {
  std::vector<std::string> cells = {fmt::format("{}", r.points_per_axis),
                                    fmt::format("{:.0f}", double(r.bytes) / 1024)};
  for (const double share : r.lru) cells.push_back(fmt::format("{:.1f} %", 100 * share));
  const CacheCounts& c = r.counts;
  cells.push_back(
      c.refused.empty() ? fmt::format("{:.1f} %", 100 - 100 * double(c.l1_misses) / double(c.loads)) : "-");
  cells.push_back(c.refused.empty() ? fmt::format("{}", c.last_misses) : "-");
  return cells;
}

std::string cache_words(const CacheStudy& s) {
  std::string words = fmt::format(
      "Reads of {} samples of a trained batch, level by level, by lines of 64 bytes: the share that a cache "
      "of this size would have "
      "if it kept what was used last",
      s.samples);
  const std::string& refused = s.rows.front().counts.refused;
  words += refused.empty()
               ? "; and the share of all loads of that call that the first cache of this processor had."
               : "; the processor's own counters cannot be read here (" + refused + ").";
  return words;
}

void print_rows(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows) {
  for (const std::string& head : heads) fmt::print("{:>18}", head);
  fmt::print("\n");
  for (const auto& row : rows) {
    for (const std::string& cell : row) fmt::print("{:>18}", cell);
    fmt::print("\n");
  }
}

void write_rows(const Values& v, const std::vector<Outcome>& outcomes) {
  std::string text = "group,name,log2_table,levels,entries,alone,ms_per_step,psnr,ssim\n";
  for (const Outcome& o : outcomes)
    text += fmt::format("{},{},{},{},{:.0f},{:.5f},{:.4f},{:.4f},{:.5f}\n", o.way.group, o.way.name, o.log2,
                        o.levels, o.entries, o.alone, o.step_ms, o.psnr, o.ssim);
  write_file(fs::path(v.out) / "study.csv", text);
}

Curve curve_of(const std::vector<Outcome>& outcomes, const std::string& group, double (*x)(const Outcome&)) {
  Curve curve;
  curve.name = group;
  for (const Outcome& o : outcomes)
    if (o.way.group == group || o.way.group == "base") curve.points.emplace_back(x(o), o.psnr);
  std::ranges::sort(curve.points);
  return curve;
}

void write_page(const Values& v, const std::vector<Outcome>& outcomes, const CacheStudy* cache) {
  Page page("The hash table: " + v.scene);
  std::vector<std::vector<std::string>> rows;
  for (const Outcome& o : outcomes) rows.push_back(cells_of(o, outcomes.front().psnr));
  page.table(kHeads, rows);
  const auto draw = [&](const Curve& curve, const std::string& x, bool log_x, const std::string& caption) {
    if (curve.points.size() > 1) page.curves({curve}, x, "PSNR, dB", log_x, false, caption);
  };
  draw(curve_of(outcomes, "table", [](const Outcome& o) { return o.entries; }), "entries of all levels", true,
       "Table size against quality: entries of all levels together.");
  draw(curve_of(outcomes, "levels", [](const Outcome& o) { return double(o.levels); }), "levels", false,
       "Number of levels against quality, from the same coarsest to the same finest.");
  draw(curve_of(outcomes, "rate", [](const Outcome& o) { return o.rate; }),
       "rate of the table over that of the networks", true, "Learning rate of the table against quality.");
  if (cache != nullptr) {
    page.heading("Caches");
    page.text(cache_words(*cache));
    std::vector<std::vector<std::string>> cells;
    for (const CacheRow& r : cache->rows) cells.push_back(cache_cells(r));
    page.table(cache_heads(*cache), cells);
  }
  write_file(fs::path(v.out) / "study.html", page.html());
}

int study(Values& v) {
  require_study_groups(v.groups);
  if (v.seconds > 0 && v.steps > 0) throw std::invalid_argument("give --seconds or --steps, not both");
  if (v.seconds == 0 && v.steps == 0) v.seconds = 60;
  const Config base = v.config.empty() ? Config() : read_config(v.config);
  if (v.backend == "simt") throw std::invalid_argument("--backend simt: takes hours a run; take cpu or cuda");
  make_folder(v.out);
  const StopSignals signals;
  const std::vector<Way> list = study_ways(base, v.groups);
  for (const Way& way : list)
    if (!train_way(v, base, way)) {
      stop_heeded();
      fmt::print("interrupted: the same command continues from what is in {}\n", v.out);
      return 130;
    }
  std::vector<Outcome> outcomes;
  for (const Way& way : list) outcomes.push_back(outcome_of(way, fs::path(v.out) / way.name));
  std::vector<std::vector<std::string>> rows;
  for (const Outcome& o : outcomes) rows.push_back(cells_of(o, outcomes.front().psnr));
  fmt::print("\n");
  print_rows(kHeads, rows);
  std::optional<CacheStudy> cache;
  if (v.backend == "cpu" && study_asks(v.groups, "cache")) {
    cache = study_cache(v, fs::path(v.out) / "base");
    fmt::print("\n{}\n", cache_words(*cache));
    std::vector<std::vector<std::string>> cells;
    for (const CacheRow& r : cache->rows) cells.push_back(cache_cells(r));
    print_rows(cache_heads(*cache), cells);
  }
  write_rows(v, outcomes);
  write_page(v, outcomes, cache ? &*cache : nullptr);
  fmt::print("\nwritten   {}\n", (fs::path(v.out) / "study.html").string());
  return exit_ok;
}

std::function<int()> setup(CLI::App& app) {
  auto v = std::make_shared<Values>();
  app.add_option("scene", v->scene, "a scene's folder, a transforms JSON, or built-in")->required();
  add_number(app, "--seconds", v->seconds, range::seconds,
             "of training, for each way to have the table (default 60)");
  add_number(app, "--steps", v->steps, range::steps, "or this number of steps each");
  app.add_option("--config", v->config,
                 "JSON file with numbers of the recipe, which each way changes in one place");
  app.add_option("--only", v->groups, "these only: " + study_groups())->delimiter(',');
  app.add_option("--backend", v->backend, "cpu (default) or cuda, as of klab train");
  app.add_option("--precision", v->precision, "f32 (default), bf16 or f16, as of klab train");
  app.add_option("--plan", v->plan,
                 "best (default: each way's own), last, naive or a JSON file, as of klab train");
  app.add_option("--out", v->out,
                 "folder for the runs and the study (default hash-study); what is there is kept");
  add_number(app, "--downscale", v->downscale, range::downscale, "shrink all pictures first");
  add_number(app, "--holdout", v->holdout, range::holdout,
             "in scenes without a test set every N-th view is for testing");
  return [v] { return study(*v); };
}

KLAB_COMMAND({.name = "hash-study",
              .summary = "Train with other hash tables, or another recipe, and compare",
              .setup = setup});

}  // namespace
}  // namespace klab::hash_study_command
