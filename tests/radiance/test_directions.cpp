// What the color network reads of a direction: harmonics, or sines and cosines of octaves.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "harness/core/registry.h"
#include "harness/records/refused.h"
#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/run/fields.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

Config with_octaves(Config c, int64_t octaves) {
  c.directions = "octaves";
  c.direction_octaves = octaves;
  return c;
}

int64_t calls_of(const std::vector<PlannedCall>& calls, const std::string& op) {
  return std::ranges::count(calls, op, &PlannedCall::op);
}

TEST(Directions, OctavesTakeThePlaceOfHarmonics) {
  const Config c = with_octaves(small_config(), 3);
  EXPECT_EQ(direction_features(c), 18);
  EXPECT_EQ(color_shape(c, 0).in, 18 + c.geometry_features);
  for (const auto& calls : {training_calls(c, 1), render_calls(c, 1)}) {
    EXPECT_EQ(calls_of(calls, "sh_fwd"), 0);
    EXPECT_GE(calls_of(calls, "frequency_fwd"), 1);
  }
  EXPECT_EQ(calls_of(training_calls(small_config(), 1), "frequency_fwd"), 0);
}

// The gradient of the color network is that of the loss, with octaves as its inputs.
TEST(Directions, AFieldWithOctavesLearnsAndIsReadAgain) {
  static CallTimes times = later_is_faster();
  const Config c = with_octaves(small_config(), 4);
  std::vector<PlannedCall> calls = training_calls(c, 1);
  for (const PlannedCall& call : render_calls(c, 1)) calls.push_back(call);
  const Plan plan = Plan::named("last", calls, times);
  Trainer trainer(small_scene(), c, plan, 3);
  const double first = trainer.step(0).loss;
  double last = first;
  for (int i = 1; i < 40; ++i) last = trainer.step(double(i) / 40).loss;
  EXPECT_LT(last, 0.7 * first);
  const Model model = trainer.averaged();
  const TempFolder folder;
  const fs::path file = folder / "model.safetensors";
  model.save(file);
  const Model read = Model::load(file);
  EXPECT_EQ(read.config.directions, "octaves");
  const Camera camera = small_scene().test.front().camera;
  const Picture before = Renderer(model, plan).render(camera), after = Renderer(read, plan).render(camera);
  EXPECT_EQ(before.rgb, after.rgb);
  try {
    save_snapshot(file, model, {});
    ADD_FAILURE() << "a snapshot holds octaves";
  } catch (const Refused& e) {
    EXPECT_NE(std::string(e.what()).find("\"directions\""), std::string::npos) << e.what();
  }
}

TEST(Directions, CudaRungsLearnAsTheProcessorDoes) {
  if (std::ranges::none_of(variants(), [](const Variant& v) { return bool(v.host); }))
    GTEST_SKIP() << "no CUDA rungs are built here";
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  FieldSettings s;
  s.hash = with_octaves(tiny_config(), 4);
  std::array<std::vector<double>, 2> losses;
  for (const bool there : {false, true}) {
    static CallTimes times = later_is_faster();
    const BackendChoice place = backend_named(there ? "simt" : "cpu");
    s.on_a_gpu = there;
    const Plan plan = Plan::named("last", run_calls(s, 1, place.ladder), times, place.ladder);
    const auto trainer = make_trainer(s, small_scene(), plan, 3, place);
    for (int i = 0; i < 2; ++i) losses[there].push_back(trainer->batch_loss(trainer->step(0).loss));
  }
  omp_set_num_threads(threads);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(losses[0][i], losses[1][i], 1e-3 * losses[0][i]);
}

}  // namespace
}  // namespace klab
