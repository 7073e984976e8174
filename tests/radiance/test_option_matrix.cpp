// Options of klab train that are settings, by field and backend: each shows in what a run leaves, or is refused with the reason.
// ctest: slow
#include <fmt/format.h>
#include <omp.h>

#include <functional>
#include <map>
#include <random>

#include "harness/core/registry.h"
#include "harness/records/input.h"
#include "labs/radiance/run/options.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/train/frequency_trainer.h"
#include "labs/radiance/train/voxel_trainer.h"
#include "tests/radiance/scene_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

/// How an option is given, what must be given with it, and what of a run shows it.
struct Given {
  std::function<void(RunOptions&)> option;
  std::string shows;  // JSON pointer into result.json, or "metrics" for its lines, "said" for what is printed
  std::function<void(RunOptions&)> with = [](RunOptions&) {};
};

void take_turns(RunOptions& o) { o.resident = 3, o.ahead = 1, o.workers = 1; }
void in_halves(RunOptions& o) { o.precision = "f16"; }

const std::map<std::string, Given>& ways_to_give() {
  static const std::map<std::string, Given> list = {
      {"--memory", {[](RunOptions& o) { o.memory = 3'000'000'000; }, "/memory/budget"}},
      {"--pressure",
       {[](RunOptions& o) {
          o.pressure = {0.99999, 1};
        },
        "said"}},
      {"--most-batch",
       {[](RunOptions& o) { o.most_batch = 1024; }, "/batch_samples",
        [](RunOptions& o) {
          o.steps = 25, o.pressure = {0, 1e-6};
        }}},
      {"--resident", {[](RunOptions& o) { o.resident = 3; }, "/memory/owners/pictures/planned"}},
      {"--workers",
       {[](RunOptions& o) { o.workers = 2, o.ahead = 2; }, "/memory/owners/pictures/planned", take_turns}},
      {"--prefetch", {[](RunOptions& o) { o.ahead = 3; }, "/memory/owners/pictures/planned", take_turns}},
      {"--recompute", {[](RunOptions& o) { o.recompute = true; }, "/memory/owners/batch/planned"}},
      {"--parts", {[](RunOptions& o) { o.parts = 2; }, "/parts"}},
      {"--precision bf16", {[](RunOptions& o) { o.precision = "bf16"; }, "/precision"}},
      {"--precision f16", {[](RunOptions& o) { o.precision = "f16"; }, "/precision"}},
      {"--loss-scale",
       {[](RunOptions& o) { o.loss_scale = LossScaleSettings{.dynamic = false, .start = 32}; }, "/loss_scale",
        in_halves}},
      {"--scale-start",
       {[](RunOptions& o) { o.loss_scale = LossScaleSettings{.start = 32}; }, "/loss_scale", in_halves}},
      {"--scale-after",
       {[](RunOptions& o) { o.loss_scale = LossScaleSettings{.grow_after = 1}; }, "/loss_scale", in_halves}},
      {"--eval-every", {[](RunOptions& o) { o.eval_every = ValidationInterval{.steps = 1}; }, "/validation"}},
      {"--metrics-every", {[](RunOptions& o) { o.metrics_every = 1000; }, "metrics"}},
  };
  return list;
}

/// Options that a few steps do not show, with the test that does.
const std::map<std::string, std::string>& shown_elsewhere() {
  static const std::map<std::string, std::string> list = {
      {"--precision", "its values stand in the list"},
      {"--reserve", "BatchLimits.WhatIsReservedIsLeftOutOfTheBudget"},
      {"--least-batch", "BatchLimits.AFailedAllocationHalvesTheBatchDownToTheLeast"},
      {"--plateau", "Retry.ARunThatGainsNothingHalvesItsRatesAndEndsEarly"},
      {"--patience", "Retry.ARunThatGainsNothingHalvesItsRatesAndEndsEarly"},
      {"--on-nan", "Retry.EndsNoWorseThanTheSameSeedWithoutANaN"},
      {"--retries", "Retry.EndsWithAllThatWasTried"}};
  return list;
}

class OptionMatrix : public SceneFolder {
 protected:
  void SetUp() override {
    omp_set_num_threads(1);
    SceneFolder::SetUp();
    for (int i = 4; i < 10; ++i) {
      const std::string name = "view_" + std::to_string(i);
      picture(name + ".png", 16, 12, 4);
      document["frames"].push_back({{"file_path", "./" + name}, {"transform_matrix", pose(float(i))}});
    }
    write("transforms.json");
  }
  void TearDown() override { omp_set_num_threads(threads); }

  static FieldSettings tiny(const std::string& field) {
    FieldSettings s;
    s.field = field;
    s.hash = tiny_config();
    s.hash.batch_samples = 512;
    s.frequency.octaves = 4, s.frequency.direction_octaves = 2, s.frequency.width = 16, s.frequency.depth = 2;
    s.frequency.skip = 1, s.frequency.rays = 16, s.frequency.coarse = s.frequency.fine = 8;
    s.frequency.chunk = 1024;
    s.voxels.first_grid = 8, s.voxels.grid = 16, s.voxels.max_rows = 20000, s.voxels.batch_samples = 1024;
    s.gaussians.initial = 100, s.gaussians.most = 200;
    return s;
  }

  struct Left {
    std::string error, said;
    json result = json::object();
    int64_t metrics = 0;
    std::string of(const std::string& shows) const {
      if (shows == "metrics") return std::to_string(metrics);
      if (shows == "said") return said.find("caches are dropped") != said.npos ? "caches are dropped" : "";
      const json::json_pointer at(shows);
      return result.contains(at) ? result.at(at).dump() : "";
    }
  };
  Left left_by(const std::string& field, const std::string& backend,
               const std::function<void(RunOptions&)>& with, const std::function<void(RunOptions&)>& option) {
    RunOptions o;
    o.scene = path.string();
    o.steps = 3;
    o.plan = "last";
    o.settings = tiny(field);
    o.backend = backend;
    o.memory = 2'500'000'000;
    o.metrics_every = 0;
    o.evaluate = false;
    o.json = true;
    o.out = path / "run";
    fs::remove_all(o.out);
    with(o);
    option(o);
    Left left;
    CallTimes times = later_is_faster();
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    try {
      if (train(o, times) != 0) left.error = "ended early";
    } catch (const std::exception& e) {
      left.error = e.what();
    }
    left.said = ::testing::internal::GetCapturedStderr();
    ::testing::internal::GetCapturedStdout();
    if (!left.error.empty()) return left;
    left.result = json::parse(read_input(o.out / "result.json"));
    std::ifstream in(o.out / "metrics.csv");
    for (std::string line; std::getline(in, line);) ++left.metrics;
    return left;
  }

  const int threads = omp_get_max_threads();
};

TEST_F(OptionMatrix, EveryDeclaredOptionOfATrainingIsTried) {
  for (const DeclaredOption& option : declared_options()) {
    if (option.command != std::string("train")) continue;
    EXPECT_NE(ways_to_give().contains(option.name), shown_elsewhere().contains(option.name)) << option.name;
  }
}

TEST_F(OptionMatrix, ThirtyCellsShowOrAreRefused) {
  const bool executor = std::ranges::any_of(variants(), [](const Variant& v) { return bool(v.host); });
  struct Cell {
    const DeclaredOption* option;
    std::string field, backend;
  };
  std::vector<Cell> cells;
  for (const DeclaredOption& option : declared_options())
    for (const std::string& field : field_names())
      for (const char* backend : {"cpu", "simt"})
        if (option.command == std::string("train") && ways_to_give().contains(option.name) &&
            (executor || backend == std::string("cpu")))
          cells.push_back({&option, field, backend});
  std::mt19937 random(1);
  std::ranges::shuffle(cells, random);
  cells.resize(std::min<size_t>(cells.size(), 30));
  int refused = 0, shown = 0;
  for (const Cell& cell : cells) {
    const std::string name =
        fmt::format("{} --field {} --backend {}", cell.option->name, cell.field, cell.backend);
    const Given& given = ways_to_give().at(cell.option->name);
    const std::string why = refusal_of(*cell.option, tiny(cell.field), cell.backend);
    const Left with = left_by(cell.field, cell.backend, given.with, given.option);
    if (!why.empty()) {
      ++refused;
      EXPECT_NE(with.error.find(cell.field), std::string::npos) << name << ": " << with.error;
      EXPECT_EQ(with.error.find('\n'), std::string::npos) << name << ": " << with.error;
      EXPECT_FALSE(fs::exists(path / "run" / "result.json")) << name;
      continue;
    }
    ++shown;
    EXPECT_EQ(with.error, "") << name;
    const Left without = left_by(cell.field, cell.backend, given.with, [](RunOptions&) {});
    EXPECT_EQ(without.error, "") << name;
    EXPECT_NE(with.of(given.shows), without.of(given.shows)) << name << " changes nothing of " << given.shows;
  }
  EXPECT_GE(refused, 5);
  EXPECT_GE(shown, 10);
}

TEST_F(OptionMatrix, ThePageListsRefusalsWithTheirReasons) {
  const std::string page = options_page(field_names());
  for (const char* row :
       {"| `--recompute` of training | voxels | only --field hash keeps features of an encoding, and this is "
        "voxels; "
        "leave it out |",
        "| `--precision bf16` of training | gaussians | no op of --field gaussians has a rung with bfloat16 "
        "factors on "
        "--backend cpu; take f32 |",
        "| `--batch` of pictures | gaussians | only --field hash or frequency or voxels is drawn in pieces"})
    EXPECT_NE(page.find(row), std::string::npos) << row << "\n" << page;
  // A field whose CUDA rungs have what those of the processor lack.
  FieldSettings waves;
  waves.field = "frequency";
  const DeclaredOption& pairs = declared_option("train", "--precision bf16");
  EXPECT_NE(refusal_of(pairs, waves, "cpu"), "");
  EXPECT_EQ(refusal_of(pairs, waves, "simt"), "");
}

}  // namespace
}  // namespace klab
