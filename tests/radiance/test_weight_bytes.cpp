// Short trainings of every field and of the classifier give the parameters that were recorded, bit by bit.
//
// A change that only reorganizes a step must leave every row of weight_bytes.csv as it is. The bytes depend on the plan, on
// the number of threads, and on three properties of the machine, which the column `machine` states: the compiler, the
// instruction set of the kernels' vectors, and the results of the mathematical library. A machine without rows skips. To
// record one: KLAB_RECORD_WEIGHT_BYTES=tests/radiance build/release/tests/test_trainer --gtest_filter='WeightBytes.*'
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/core/build_info.h"
#include "harness/records/digest.h"
#include "harness/timing/machine.h"
#include "labs/learning/train/trainer.h"
#include "labs/radiance/splat/trainer.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/frequency_trainer.h"
#include "labs/radiance/train/voxel_trainer.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

const fs::path kBytesFolder = fs::path(KLAB_SOURCE_DIR) / "tests/radiance";

/// What a training leaves: its parameters, and the numbers that its steps reported.
class Bytes {
 public:
  template <class T>
  void add(std::span<const T> values) {
    all_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void add(double number) { add(std::span<const double>(&number, 1)); }
  void add(const StepReport& r) {
    for (const double n : {r.loss, double(r.rays), double(r.samples), double(r.marched)}) add(n);
  }
  std::string digest() const { return sha256(all_); }

 private:
  std::string all_;
};

/// Describes the properties of the machine that the bytes depend on.
std::string machine_of_bytes() {
  Bytes library;
  for (int i = 0; i < 4000; ++i) {
    const float x = -10 + 0.005F * float(i);
    const float values[] = {std::exp(x),
                            std::sin(x),
                            std::cos(x),
                            std::tanh(x),
                            std::log(0.1F + x * x),
                            std::pow(0.1F + x * x, x)};
    library.add(std::span<const float>(values));
  }
  return fmt::format("{} {} {}", build_info().compiler, this_machine().instruction_set,
                     library.digest().substr(0, 8));
}

/// A training to be repeated: returns its digest.
struct Training {
  std::string name;
  std::string ladder;  // "cpu" or "cuda"
  Unit unit = Unit::f32;
  std::vector<PlannedCall> calls;
  std::function<std::string(const Plan&)> run;
  bool in_every_way = false;  // with both plans and with one and two threads; else each plan once
};

std::string steps_of(FieldTrainer& trainer, int steps) {
  Bytes bytes;
  for (int i = 0; i < steps; ++i) {
    bytes.add(trainer.step(double(i) / double(steps)));
    if (i == 1) bytes.add(trainer.batch_psnr());
  }
  bytes.add(trainer.occupied_share());
  for (const std::span<const float> p : trainer.parameters()) bytes.add(p);
  return bytes.digest();
}

Config hash_config() {
  Config c = tiny_config();
  c.grid_warmup = 8;
  return c;
}

Training hash_training(const std::string& name, const Config& c, const StepPrecision& precision = {},
                       const StepSizes& sizes = {}, bool exact = true, const BatchShare& share = {}) {
  return {.name = name,
          .ladder = "cpu",
          .unit = precision.formats.table == &kBf16 ? Unit::bf16 : Unit::f32,
          .calls = training_calls(c, 1, precision.formats),
          .run = [=](const Plan& plan) {
            Backend backend = cpu_backend();
            backend.exact = exact;
            Trainer trainer(small_scene(), c, plan, 5, backend, sizes, nullptr, share, precision);
            return steps_of(trainer, 20);
          }};
}

/// The hash field with each of the choices that change what a step calls.
std::vector<Training> hash_trainings() {
  std::vector<Training> all = {hash_training("hash", hash_config())};
  all.back().in_every_way = true;
  Config terms = hash_config();
  // Every term of when the rows were recorded; a later one has no part in them.
  terms.opacity_entropy = terms.distortion = terms.total_variation = terms.depth = 1e-2;
  terms.clip_norm = 1;
  terms.background = "random";
  all.push_back(hash_training("hash with every term", terms));
  Config adaptive = hash_config();
  adaptive.table = "adaptive";
  adaptive.table_every = 4;
  adaptive.sampling = "error";
  adaptive.pixel_point = "anywhere";
  all.push_back(hash_training("hash with an adaptive table", adaptive));
  all.push_back(hash_training("hash f16", hash_config(), {half_formats(), LossScaleSettings{}}));
  all.back().in_every_way = true;
  const StepFormats brain = {.table = &kBf16,
                             .density = &kBf16,
                             .color = &kBf16,
                             .activations = &kBf16,
                             .gradients = &kBf16,
                             .moments = &kBf16};
  Config with_variation = hash_config();
  with_variation.total_variation = 1e-2;
  all.push_back(hash_training("hash bf16", with_variation, {brain, std::nullopt}));
  all.back().in_every_way = true;
  all.push_back(
      hash_training("hash with padding", terms, {}, {.passes = {0}, .stretch = 0, .recompute = true}, false));
  BatchShare halves;
  halves.parts = halves.own = 2;
  all.push_back(hash_training("hash in two parts", hash_config(), {}, {}, true, halves));
  return all;
}

/// CUDA rungs on the host executor: sizes are bounded, one pass over a ray.
Training hash_on_the_executor(const std::string& name, const StepPrecision& precision) {
  Config c = hash_config();
  c.total_variation = precision.formats.any() ? 0 : 1e-2;
  return {.name = name,
          .ladder = "cuda",
          .unit = precision.formats.half_table ? Unit::f16 : Unit::f32,
          .calls = training_calls(c, 1, precision.formats),
          .run = [=](const Plan& plan) {
            const BackendChoice where = backend_named("simt");
            Trainer trainer(small_scene(), c, plan, 5, where.backend, where.sizes, nullptr, {}, precision);
            return steps_of(trainer, 4);
          }};
}

std::vector<Training> voxel_trainings() {
  VoxelConfig c;
  c.first_grid = 8;
  c.grid = 16;
  c.batch_samples = 1024;
  c.first_rays = 64;
  c.grow_until = 0.2;
  c.prune_until = 0.6;
  c.total_variation = 0;
  VoxelConfig smooth = c;
  smooth.total_variation = 1e-2;
  smooth.background = "random";
  std::vector<Training> all;
  for (const std::string ladder : {"cpu", "cuda"})
    for (const VoxelConfig& config : {c, smooth}) {
      const bool smoothed = config.total_variation > 0;
      all.push_back({.name = fmt::format("voxels{}{}", smoothed ? " with total variation" : "",
                                         ladder == "cuda" ? " on the executor" : ""),
                     .ladder = ladder,
                     .calls = voxel_calls(config, true),
                     .run =
                         [=](const Plan& plan) {
                           const BackendChoice where = backend_named(ladder == "cuda" ? "simt" : "cpu");
                           VoxelTrainer trainer(small_scene(), config, plan, 5, where.backend, where.sizes);
                           return steps_of(trainer, ladder == "cuda" ? 2 : 34);
                         },
                     .in_every_way = !smoothed && ladder == "cpu"});
    }
  return all;
}

Training frequency_training() {
  FrequencyConfig c;
  c.octaves = 4;
  c.direction_octaves = 2;
  c.width = 16;
  c.depth = 4;
  c.skip = 2;
  c.rays = 40;
  c.coarse = 16;
  c.fine = 16;
  c.chunk = 1024;
  c.background = "random";
  return {.name = "frequency",
          .ladder = "cpu",
          .calls = frequency_calls(c, true),
          .run =
              [=](const Plan& plan) {
                FrequencyTrainer trainer(small_scene(), c, plan, 5);
                return steps_of(trainer, 4);
              },
          .in_every_way = true};
}

Training gaussian_training() {
  SplatOptions options;
  options.initial = 200;
  options.degree = 1;
  options.density_every = 4;
  options.density_from = 4;
  options.density.most = 400;
  options.background = "white";
  const Image& first = small_scene().train.front().image;
  return {.name = "gaussians",
          .ladder = "cpu",
          .calls = splat_training_calls(options.initial, options.degree, first.width, first.height),
          .run =
              [=](const Plan& plan) {
                SplatTrainer trainer(small_scene(), options, plan, 5);
                Bytes bytes;
                for (int i = 0; i < 12; ++i) {
                  trainer.step(double(i) / 12);
                  bytes.add(trainer.last_loss());
                  bytes.add(trainer.last_psnr());
                }
                GaussianSet set = trainer.set();
                for (std::vector<float>* values : set.tensors()) bytes.add(std::span<const float>(*values));
                return bytes.digest();
              },
          .in_every_way = true};
}

Training classifier_training(const std::string& model, learning::Precision precision) {
  static const learning::Dataset data{"glyphs", learning::make_glyphs(16, 1), learning::make_glyphs(4, 2)};
  const learning::TrainerSettings settings{.model = model,
                                           .optimizer = {.clip = 1},
                                           .loader = {.batch = 4},
                                           .epochs = 2,
                                           .precision = precision,
                                           .accumulate = model == "mlp" ? 2 : 1};
  return {.name = fmt::format("classifier {} {}", model, learning::name_of(precision)),
          .ladder = "cpu",
          .unit = precision == learning::Precision::bf16 ? Unit::bf16 : Unit::f32,
          .calls = learning::Trainer(data, settings).calls(),
          .run =
              [=](const Plan& plan) {
                learning::Trainer trainer(data, settings);
                trainer.use(plan);
                Bytes bytes;
                for (int i = 0; i < 3; ++i) bytes.add(trainer.step());
                bytes.add(trainer.evaluate(data.test).loss);
                for (const bool decays : {false, true}) {
                  const auto& values = trainer.network().parameters().group(decays).values;
                  bytes.add(std::span<const float>(values.data(), size_t(values.size())));
                }
                return bytes.digest();
              },
          .in_every_way = true};
}

struct ThreadsOfBytes {
  explicit ThreadsOfBytes(int threads) : before(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadsOfBytes() { omp_set_num_threads(before); }
  int before;
};

/// Rows of weight_bytes.csv: "machine,training,plan,threads" to digest.
std::map<std::string, std::string> recorded_bytes(const fs::path& file) {
  std::map<std::string, std::string> rows;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (const size_t comma = line.rfind(','); comma != std::string::npos)
      rows[line.substr(0, comma)] = line.substr(comma + 1);
  return rows;
}

void hold_bytes(const std::vector<Training>& trainings) {
  const char* const record = std::getenv("KLAB_RECORD_WEIGHT_BYTES");
  const std::string machine = machine_of_bytes();
  const fs::path folder = record != nullptr ? fs::path(record) : kBytesFolder,
                 file = folder / "weight_bytes.csv";
  const auto rows = recorded_bytes(file);
  const bool known =
      std::ranges::any_of(rows, [&](const auto& row) { return row.first.starts_with(machine + ","); });
  if (!known && record == nullptr) GTEST_SKIP() << "weight_bytes.csv has no rows of \"" << machine << "\"";
  CallTimes times = later_is_faster();
  for (const Training& t : trainings)
    for (const std::string kind : {"naive", "fixed"}) {
      std::string name = t.name + ".json";
      std::ranges::replace(name, ' ', '_');
      const fs::path fixed = folder / "plans" / name;
      if (kind == "fixed" && record != nullptr && !fs::exists(fixed)) {
        fs::create_directories(fixed.parent_path());
        std::ofstream(fixed) << to_json_text(Plan::named("best", t.calls, times, t.ladder, t.unit));
      }
      const Plan plan =
          Plan::named(kind == "naive" ? kind : fixed.string(), t.calls, times, t.ladder, t.unit);
      std::vector<int> counts =
          t.in_every_way ? std::vector<int>{1, 2} : std::vector<int>{kind == "naive" ? 1 : 2};
      if (t.ladder == "cuda") counts = {1};
      for (const int threads : counts) {
        const ThreadsOfBytes limited(threads);
        const std::string key = fmt::format("{},{},{},{}", machine, t.name, kind, threads);
        const std::string digest = t.run(plan);
        if (record != nullptr) {
          EXPECT_EQ(digest, t.run(plan)) << key << ": differs from run to run";
          if (!rows.contains(key)) std::ofstream(file, std::ios::app) << key << ',' << digest << '\n';
          continue;
        }
        const auto at = rows.find(key);
        if (at == rows.end())
          ADD_FAILURE() << "weight_bytes.csv has no row " << key;
        else
          EXPECT_EQ(at->second, digest) << key;
      }
    }
}

TEST(WeightBytes, StayOfTheHashField) { hold_bytes(hash_trainings()); }

TEST(WeightBytes, StayOfTheHashFieldOnTheExecutor) {
  hold_bytes(
      {hash_on_the_executor("hash on the executor", {}),
       hash_on_the_executor("hash f16 on the executor", {half_formats_on_a_gpu(), LossScaleSettings{}})});
}

TEST(WeightBytes, StayOfVoxels) { hold_bytes(voxel_trainings()); }

TEST(WeightBytes, StayOfTheFrequencyField) { hold_bytes({frequency_training()}); }

TEST(WeightBytes, StayOfGaussians) { hold_bytes({gaussian_training()}); }

TEST(WeightBytes, StayOfTheClassifier) {
  std::vector<Training> all;
  for (const std::string model : {"mlp", "cnn"})
    for (const learning::Precision p : {learning::Precision::f32, learning::Precision::bf16})
      all.push_back(classifier_training(model, p));
  hold_bytes(all);
}

}  // namespace
}  // namespace klab
