// The setting "far": rays end there in training, in pictures, on every backend, and in a model that is read again.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "harness/core/registry.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/train/views.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr float kFar = 1.1F;  // in the middle of the scene, as seen by its cameras

FieldSettings settings_with_far(const std::string& field, double far, const std::string& backend) {
  FieldSettings s;
  s.field = field;
  s.on_a_gpu = backend != "cpu";
  s.hash = tiny_config();
  s.frequency = {.octaves = 4,
                 .direction_octaves = 2,
                 .width = 16,
                 .depth = 2,
                 .skip = 1,
                 .rays = 16,
                 .coarse = 16,
                 .fine = 8,
                 .chunk = 1024};
  s.voxels.first_grid = 8, s.voxels.grid = 16, s.voxels.max_rows = 20000, s.voxels.start = 1;
  s.voxels.batch_samples = 1024;
  s.hash.far = s.frequency.far = s.voxels.far = far;
  return s;
}

struct Trained {
  std::unique_ptr<FieldModel> model;
  int64_t marched = 0;
};

Trained trained_with_far(const std::string& field, double far, const std::string& backend) {
  static CallTimes times = later_is_faster();
  const FieldSettings s = settings_with_far(field, far, backend);
  const BackendChoice place = backend_named(backend);
  const Plan plan = Plan::named("last", run_calls(s, 1, place.ladder), times, place.ladder);
  const auto trainer = make_trainer(s, small_scene(), plan, 3, place);
  const int64_t marched = trainer->step(0).marched;
  return {trained_model(s, *trainer), marched};
}

Picture picture_with(const FieldModel& model, const std::string& backend) {
  static CallTimes times = later_is_faster();
  const BackendChoice place = backend_named(backend);
  const Plan plan = Plan::named("last", model.picture_calls(place), times, place.ladder);
  return model.renderer(plan, place, 256)(small_scene().test[0].camera);
}

/// Returns the largest mean distance of a pixel that shows something.
float farthest(const Picture& picture) {
  float most = 0;
  for (size_t i = 0; i < picture.depth.size(); ++i)
    if (picture.opacity[i] > 1e-3F) most = std::max(most, picture.depth[i] / picture.opacity[i]);
  return most;
}

TEST(Far, RaysEndThereInTrainingAndInPictures) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const bool executor = std::ranges::any_of(variants(), [](const Variant& v) { return bool(v.host); });
  for (const std::string field : {"hash", "frequency", "voxels"})
    for (const std::string backend : {"cpu", "simt"}) {
      if (backend == "simt" && (!executor || field == "frequency")) continue;  // its rays begin on the host
      const Trained all = trained_with_far(field, 0, backend), cut = trained_with_far(field, kFar, backend);
      EXPECT_FALSE(all.model->placement().far < kNoFar);
      EXPECT_FLOAT_EQ(cut.model->placement().far, kFar) << field;
      if (field != "frequency") {  // which has as many samples on any ray
        EXPECT_LT(cut.marched, 0.9 * double(all.marched)) << field << " " << backend;
        EXPECT_GT(cut.marched, 0) << field << " " << backend;
      }
      EXPECT_GT(farthest(picture_with(*all.model, backend)), 1.1F * kFar) << field << " " << backend;
      const float depth = farthest(picture_with(*cut.model, backend));
      EXPECT_LE(depth, 1.001F * kFar) << field << " " << backend;
      EXPECT_GT(depth, 0.5F * kFar) << field << " " << backend;
    }
  omp_set_num_threads(threads);
}

TEST(Far, StandsInTheFileOfAModel) {
  const TempFolder folder;
  const fs::path file = folder / "model.safetensors";
  for (const std::string field : {"hash", "frequency", "voxels"}) {
    for (const double far : {0.0, double(kFar)}) {
      trained_with_far(field, far, "cpu").model->save(file);
      EXPECT_EQ(load_field_model(file)->placement().far, far > 0 ? kFar : kNoFar) << field;
    }
  }
  const Trained hash = trained_with_far("hash", kFar, "cpu");
  const fs::path snapshot = folder / "model.ingp";
  save_snapshot(snapshot, *hash.model->as_hash(), {});
  EXPECT_EQ(load_snapshot(snapshot).placement.far, kFar);
}

TEST(Far, MustLieBehindNear) {
  for (const std::string field : {"hash", "frequency", "voxels"}) {
    try {
      field_settings(field, R"({"near": 0.5, "far": 0.25})", "my.json");
      ADD_FAILURE() << field;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find("\"far\" must be 0 or above \"near\""), std::string::npos)
          << e.what();
    }
  }
  // The scene's own near distance counts, too.
  EXPECT_THROW(placement_of(small_scene(), false, 0, 0.01), std::invalid_argument);
  EXPECT_NO_THROW(placement_of(small_scene(), false, 0, 1));
}

TEST(Far, IsRefusedForGaussians) {
  try {
    field_settings("gaussians", R"({"far": 2})", "my.json");
    ADD_FAILURE() << "ignored";
  } catch (const std::runtime_error& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("\"far\""), std::string::npos) << message;
    EXPECT_NE(message.find("--field hash or frequency or voxels"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace klab
