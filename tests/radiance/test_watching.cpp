// Watching a run: the choice of what is validated, terms of the loss, gradients, and what follows a step that is not finite.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "harness/records/input.h"
#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/retries.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/state.h"
#include "labs/radiance/run/validation.h"
#include "labs/radiance/splat/painter.h"
#include "labs/radiance/train/frequency_trainer.h"
#include "labs/radiance/train/voxel_trainer.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

TEST(Validation, TakesAsManyAndAsLargeViewsAsFitIntoItsShare) {
  const double a_pixel = 1e-6;  // 0.3 s of an interval of 10 s are 300,000 pixels
  const ValidationChoice choice = choose_validation(25, 400, 400, a_pixel, 0, 10);
  EXPECT_EQ(choice.views, 8);
  EXPECT_EQ(choice.factor, 3);  // 8 of 133x133 are 141,512; 8 of 200x200 would be 320,000
  EXPECT_EQ(choice.every, 10);
  EXPECT_EQ(choose_validation(25, 400, 400, a_pixel, 0, 100).factor, 1);
  EXPECT_EQ(choose_validation(5, 400, 400, a_pixel, 0, 10).views, 5);
  EXPECT_EQ(choose_validation(1, 400, 400, a_pixel, 0, 10).views, 1);
  // What is spent in any case leaves room for less.
  const ValidationChoice little = choose_validation(25, 400, 400, a_pixel, 0.265, 10);
  EXPECT_EQ(little.views, 3);
  EXPECT_EQ(little.factor, 4);
}

TEST(Validation, WaitsLongerWhereTwoSmallViewsDoNotFit) {
  const ValidationChoice choice = choose_validation(25, 400, 400, 1e-3, 1, 10);
  EXPECT_EQ(choice.views, 2);
  EXPECT_EQ(choice.factor, 4);
  EXPECT_NEAR(choice.every, (1 + 1e-3 * 2 * 100 * 100) / kValidationShare, 1e-9);
  // Pictures below 100 pixels are not reduced.
  EXPECT_EQ(choose_validation(4, 60, 90, 1e-3, 0, 10).factor, 1);
}

TEST(Validation, ReducedPixelsCountOnlyIfAllTheirPixelsDo) {
  View view = small_scene().test.front();
  const int width = view.camera.width;
  auto list = std::make_shared<std::vector<int32_t>>();
  for (int32_t i = 0; i < view.pixels(); ++i)
    if (i != width + 2) list->push_back(i);  // pixel (2, 1) is masked
  view.with_ray = list;
  const View reduced = reduced_view(view, 2);
  EXPECT_EQ(reduced.camera.width, width / 2);
  EXPECT_EQ(int64_t(reduced.with_ray->size()), reduced.pixels() - 1);
  EXPECT_EQ(std::ranges::find(*reduced.with_ray, 1), reduced.with_ray->end());
}

TEST(Validation, ScoresPicturesAndKeepsItsShare) {
  const Scene& scene = small_scene();
  Validation validation(scene.test, {.seconds = 5}, 100, 0);
  EXPECT_FALSE(validation.due(104, 6));
  EXPECT_TRUE(validation.due(105, 7));
  const auto gray = [](const Camera& camera) {
    Picture p = Renderer::empty_picture(camera);
    std::ranges::fill(p.rgb, 0.5F);
    return p;
  };
  validation.score(gray, false, 3, 7, 105);  // as if 3 s had been spent on it already
  EXPECT_FALSE(validation.due(105 + 3 / kValidationShare - 1, 8));
  ASSERT_EQ(validation.points().size(), 1U);
  const Score all = evaluate(gray, false, scene.test);
  EXPECT_NEAR(validation.last().psnr, all.psnr, 6);  // of a few of these views
  EXPECT_EQ(validation.take_last()->step, 7);
  EXPECT_FALSE(validation.take_last());
  EXPECT_NE(validation.text().find("instead of 5 s"), std::string::npos) << validation.text();
}

TEST(Validation, IsDueAtMultiplesOfStepsAsLongAsItKeepsItsShare) {
  const Scene& scene = small_scene();
  Validation validation(scene.test, {.steps = 10}, 100, 25);
  EXPECT_FALSE(validation.due(200, 25)) << "the step at which it began";
  EXPECT_FALSE(validation.due(200, 26));
  EXPECT_TRUE(validation.due(200, 30));
  const auto gray = [](const Camera& camera) { return Renderer::empty_picture(camera); };
  validation.score(gray, false, 0.5, 30, 200);  // 20 s a step: little of 200 s
  EXPECT_FALSE(validation.due(400, 39));
  EXPECT_TRUE(validation.due(400, 40));
  EXPECT_NE(validation.text().find(", every 10 steps"), std::string::npos) << validation.text();
  Validation often(scene.test, {.steps = 1}, 0, 0);
  EXPECT_TRUE(often.due(0.1, 1));
  often.score(gray, false, 0.3, 1, 0.1);  // takes three times as long as the step
  EXPECT_FALSE(often.due(0.2, 2));
  EXPECT_TRUE(often.due(0.1 + 1 / kValidationShare, 3));
  EXPECT_NE(often.text().find("steps instead of 1: more often would take over 3 %"), std::string::npos)
      << often.text();
}

TEST(Validation, IntervalsAreSecondsOrSteps) {
  EXPECT_EQ(validation_interval_from("2.5").seconds, 2.5);
  EXPECT_EQ(validation_interval_from("2.5").steps, 0);
  EXPECT_EQ(validation_interval_from("500steps").steps, 500);
  EXPECT_EQ(validation_interval_from("500 steps").steps, 500);
  for (const char* text : {"", "0", "soon", "steps", "0steps", "1.5steps", "-3", "10 s"}) try {
      validation_interval_from(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("--eval-every"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("500steps"), std::string::npos) << e.what();
    }
}

TEST(Plateau, CountsScoresInARowWithoutAGain) {
  Plateau scores;
  EXPECT_EQ(scores.add(20), 0);
  EXPECT_EQ(scores.add(20.005), 1);
  EXPECT_EQ(scores.add(19), 2);
  EXPECT_EQ(scores.add(20.02), 0);
  EXPECT_EQ(scores.add(20.02), 1);
}

TEST(Watching, TermsOfTheLossAddUpToIt) {
  Config c = small_config();
  c.opacity_entropy = 0.1;
  c.distortion = 0.2;
  c.total_variation = 0.3;
  Trainer trainer(small_scene(), c, small_plan(), 3);
  trainer.measure_next_gradient();
  const StepReport report = trainer.step(0);
  const std::vector<float> weight = trainer.tensor("weight"), value = trainer.tensor("value");
  double sum = 0;
  for (size_t r = 0; r < weight.size(); ++r) sum += double(weight[r]) * double(value[r]);
  for (size_t k = 0; k < kLossTerms; ++k) {
    sum += report.terms[k];
    EXPECT_EQ(report.terms[k] > 0, c.*loss_terms()[k].weight > 0) << loss_terms()[k].term->name;
  }
  EXPECT_NEAR(report.loss, sum, 1e-5 * report.loss);
  EXPECT_GT(report.gradient_norm, 0);
  EXPECT_EQ(report.gradient_norm, report.clipped_norm);
  EXPECT_TRUE(std::isnan(trainer.step(0).gradient_norm));
}

TEST(Watching, DecayIsMeasuredWithTheGradientAndIsNoPartOfTheLoss) {
  Config c = small_config();
  Trainer plain(small_scene(), c, small_plan(), 3);
  c.weight_decay = 0.1;
  Trainer trainer(small_scene(), c, small_plan(), 3);
  double squares = 0;
  for (const Part part : {Part::density, Part::color})
    for (const float w : trainer.model().of(part)) squares += double(w) * double(w);
  trainer.measure_next_gradient();
  plain.measure_next_gradient();
  const StepReport with = trainer.step(0), without = plain.step(0);
  EXPECT_NEAR(with.decay, 0.05 * squares, 1e-6 * squares);
  EXPECT_EQ(with.loss, without.loss);
  EXPECT_EQ(without.decay, 0);
  EXPECT_EQ(trainer.step(0).decay, 0) << "not measured";
}

TEST(Watching, ClippingShortensTheGradientOfTheNetworksOnly) {
  const auto norms = [](double limit) {
    Config c = small_config();
    c.clip_norm = limit;
    static CallTimes times = later_is_faster();
    Trainer trainer(small_scene(), c, Plan::named("last", training_calls(c, 1), times), 3);
    trainer.measure_next_gradient();
    return trainer.step(0);
  };
  const StepReport free = norms(0), wide = norms(1e6), narrow = norms(1e-5), wider = norms(2e-5);
  EXPECT_EQ(free.clipped_norm, free.gradient_norm);
  EXPECT_EQ(wide.clipped_norm, wide.gradient_norm);
  for (const StepReport* r : {&wide, &narrow, &wider})
    EXPECT_NEAR(r->gradient_norm, free.gradient_norm, 1e-9 * free.gradient_norm);
  EXPECT_LT(narrow.clipped_norm, narrow.gradient_norm);
  // Each network that is longer keeps its limit, and the table keeps all that it has.
  const double squares = std::pow(wider.clipped_norm, 2) - std::pow(narrow.clipped_norm, 2);
  const double clipped = squares / (4e-10 - 1e-10);
  EXPECT_NEAR(clipped, std::round(clipped), 1e-3);
  EXPECT_GE(std::round(clipped), 1);
  EXPECT_LE(std::round(clipped), 2);
}

FieldSettings small_settings(const std::string& field) {
  FieldSettings s;
  s.field = field;
  s.hash = small_config();
  s.frequency.width = 32, s.frequency.depth = 3, s.frequency.skip = 2, s.frequency.rays = 64;
  s.frequency.coarse = s.frequency.fine = 16, s.frequency.chunk = 2048;
  s.voxels.first_grid = 16, s.voxels.grid = 32, s.voxels.batch_samples = 4096;
  s.gaussians.initial = 300, s.gaussians.most = 400;
  return s;
}

std::unique_ptr<FieldTrainer> small_trainer(const std::string& field) {
  const FieldSettings settings = small_settings(field);
  static CallTimes times = later_is_faster();
  const Plan plan = Plan::named("last", run_calls(settings, 1, "cpu"), times);
  return make_trainer(settings, small_scene(), plan, 3, backend_named("cpu"));
}

std::vector<float> parameters_of(const FieldTrainer& trainer) {
  std::vector<float> all;
  for (const auto part : trainer.parameters()) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Makes an element of a gradient that the next step adds to NaN.
void poison(FieldTrainer& trainer) {
  if (auto* t = dynamic_cast<Trainer*>(&trainer)) t->gradient(Part::density)[5] = NAN;
  if (auto* t = dynamic_cast<VoxelTrainer*>(&trainer)) {
    // Voxels check the samples' gradients: the density of what is seen.
    const_cast<VoxelModel&>(t->model()).density[0] = NAN;
    for (float& d : const_cast<VoxelModel&>(t->model()).density) d = NAN;
  }
  if (auto* t = dynamic_cast<FrequencyTrainer*>(&trainer)) t->gradient(0)[5] = NAN;
}

TEST(Watching, RatesOfEveryFieldFollowTheFactor) {
  for (const char* field : {"hash", "frequency", "voxels"}) {
    std::array<std::vector<float>, 2> after;
    std::vector<float> before;
    for (const int half : {0, 1}) {
      const auto trainer = small_trainer(field);
      before = parameters_of(*trainer);
      if (half == 1) trainer->scale_rates(0.5);
      trainer->measure_next_gradient();
      const StepReport report = trainer->step(0);
      EXPECT_GT(report.gradient_norm, 0) << field;
      after[size_t(half)] = parameters_of(*trainer);
    }
    double whole = 0, halves = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      whole += std::abs(double(after[0][i]) - double(before[i]));
      halves += std::abs(double(after[1][i]) - double(before[i]));
    }
    EXPECT_GT(whole, 0) << field;
    EXPECT_NEAR(halves / whole, 0.5, 1e-3) << field;
  }
}

TEST(Watching, ACheckpointUndoesAStepThatWasNotFinite) {
  const TempFolder folder;
  const fs::path file = folder / "checkpoint.safetensors";
  for (const char* field : {"hash", "frequency", "voxels"}) {
    const auto trainer = small_trainer(field), other = small_trainer(field);
    for (int i = 0; i < 3; ++i) trainer->step(0), other->step(0);
    trainer->save(file, {});
    poison(*trainer);
    EXPECT_THROW(trainer->step(0), NotFinite) << field;
    trainer->restore(TensorFile(file));
    trainer->step(0), other->step(0);
    EXPECT_EQ(parameters_of(*trainer), parameters_of(*other)) << field;
  }
}

TEST(Watching, GaussiansRefuseAGradientThatIsNotFinite) {
  static CallTimes times = later_is_faster();
  const Plan plan = Plan::named("last", gaussian_calls({}), times);
  GaussianSet set = random_gaussians(200, 1, 3);
  const GaussianSet before = set;
  std::fill_n(set.coefficients.begin(), 600, INFINITY);
  SplatTrainer trainer(small_scene(), {.initial = 200, .degree = 1}, plan, 3, set);
  try {
    for (int i = 0; i < 4; ++i) trainer.step(0);
    FAIL() << "infinite colors went unnoticed";
  } catch (const NotFinite& e) {
    EXPECT_NE(std::string(e.what()).find("gradient of the Gaussians'"), std::string::npos) << e.what();
  }
  EXPECT_EQ(trainer.set().position, before.position) << "a parameter was changed";
}

TEST(Watching, NamesAViewWhoseDataAreNotFinite) {
  std::vector<View> views(small_scene().train.begin(), small_scene().train.begin() + 3);
  EXPECT_EQ(odd_view(views), "");
  views[1].depth[size_t(views[1].camera.width) + 2] = NAN;
  EXPECT_EQ(odd_view(views), "the depth of view " + views[1].name + " is not finite at pixel (2, 1)");
  views[0].camera.pose[3] = INFINITY;
  EXPECT_EQ(odd_view(views), "the camera of view " + views[0].name + " is not finite");
}

class Retry : public ::testing::Test {
 protected:
  void SetUp() override {
    omp_set_num_threads(1);  // its steps are too small for several
    options.scene = "built-in";
    options.downscale = 16;
    options.steps = 545;
    options.plan = "last";
    options.settings = small_settings("hash");
    options.settings.hash.batch_samples = 256;
    options.out = folder;
    options.evaluate = false;
    options.json = true;
  }
  void TearDown() override { omp_set_num_threads(threads); }
  int run() {
    CallTimes times = later_is_faster();
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    int code = -1;
    try {
      code = train(options, times);
    } catch (const std::exception& e) {
      error = e.what();
    }
    said = ::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout();
    return code;
  }

  const int threads = omp_get_max_threads();
  const TempFolder own;
  const fs::path folder = own / "run";
  RunOptions options;
  std::string error, said;
};

TEST_F(Retry, ContinuesAfterOneNaNAndReturnsToTheSchedule) {
  options.retry_not_finite = true;
  bool done = false;
  options.before_step = [&](FieldTrainer& trainer) {
    if (trainer.steps_done() == 40 && !std::exchange(done, true)) poison(trainer);
  };
  ASSERT_EQ(run(), 0) << error << said;
  const auto result = nlohmann::json::parse(read_input(folder / "result.json"));
  EXPECT_EQ(result.at("steps"), 545);
  ASSERT_EQ(result.at("retries").size(), 1U);
  EXPECT_NE(said.find("back to step 0 with learning rates times 0.5 (try 1 of 5)"), std::string::npos)
      << said;
  EXPECT_NE(said.find("500 finite steps"), std::string::npos) << said;
}

TEST_F(Retry, EndsNoWorseThanTheSameSeedWithoutANaN) {
  options.steps = 1500;
  options.evaluate = true;
  options.retry_not_finite = true;
  const auto psnr = [&] {
    EXPECT_EQ(run(), 0) << error << said;
    const auto result = nlohmann::json::parse(read_input(folder / "result.json"));
    EXPECT_EQ(result.contains("retries"), bool(options.before_step));
    fs::remove_all(folder);
    return result.at("score").at("psnr").get<double>();
  };
  const double plain = psnr();
  bool done = false;
  options.before_step = [&](FieldTrainer& trainer) {
    if (trainer.steps_done() == 40 && !std::exchange(done, true)) poison(trainer);
  };
  EXPECT_GT(psnr(), plain - 0.3);  // rates that are halved for a while may end better
}

TEST_F(Retry, ARunThatGainsNothingHalvesItsRatesAndEndsEarly) {
  options.settings.hash.learning_rate = 1e-9;
  options.steps = 1000000;
  options.eval_every = ValidationInterval{.seconds = 0.02};
  options.plateau = 1;
  options.patience = 3;
  ASSERT_EQ(run(), 0) << error << said;
  const auto result = nlohmann::json::parse(read_input(folder / "result.json"));
  EXPECT_EQ(result.at("ended_early"), "3 scores on unseen views in a row without a gain of 0.01 dB");
  EXPECT_GE(result.at("validation").at("points").size(), 4U);  // the grid alone may gain at first
  // A score that gains begins the count again, and the rates stay as they are: each note is one half.
  static const std::regex note("([123]) scores without a gain of 0.01 dB: learning rates times ([0-9.e-]+)");
  double factor = 1;
  std::string last;
  for (std::sregex_iterator at(said.begin(), said.end(), note), end; at != end; ++at) {
    factor /= 2;
    EXPECT_NEAR(std::stod(at->str(2)), factor, 1e-3 * factor) << said;
    last = at->str(1);
  }
  EXPECT_LE(factor, 0.125) << said;
  EXPECT_EQ(last, "3") << said;
  // A resumed run keeps the rates.
  EXPECT_EQ(run_state_in(TensorFile(folder / "checkpoint.safetensors")).plateau_factor, factor);
}

TEST_F(Retry, EndsWithAllThatWasTried) {
  options.retry_not_finite = true;
  options.retries = 2;
  options.before_step = [](FieldTrainer& trainer) {
    if (trainer.steps_done() == 5) poison(trainer);
  };
  EXPECT_EQ(run(), -1);
  for (const char* part : {"step 5: the gradient of", "2 tries from the last checkpoint did not help", "0.25",
                           "checkpoint.safetensors", "docs/troubleshooting.md"})
    EXPECT_NE(error.find(part), std::string::npos) << part << ": " << error;
}

TEST_F(Retry, DataThatAreNotFiniteEndAfterAllTriesAndTheirViewIsNamed) {
  const auto expect_named = [&](const std::string& what) {
    for (const bool retry : {true, false}) {
      options.retry_not_finite = retry;
      options.retries = 2;
      fs::remove_all(folder);
      EXPECT_EQ(run(), -1) << options.settings.field;
      EXPECT_NE(error.find(what), std::string::npos) << options.settings.field << ": " << error;
      EXPECT_EQ(error.find("2 tries from the last checkpoint") != std::string::npos, retry) << error;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
  };
  options.steps = 100;
  options.after_reading = [](Scene& scene) {
    for (float& d : scene.train[3].depth) d = INFINITY;
  };
  const std::string name = small_scene().train[3].name;
  for (const char* field : {"hash", "voxels"}) {
    options.settings = small_settings(field);
    options.settings.hash.depth = options.settings.voxels.depth = 0.1;
    expect_named("the depth of view " + name + " is not finite at pixel (0, 0)");
  }
  options.settings = small_settings("frequency");
  options.after_reading = [](Scene& scene) { scene.train[3].camera.pose[3] = NAN; };
  expect_named("the camera of view " + name + " is not finite");
}

TEST_F(Retry, WithoutItTheMessageNamesSettingCheckpointAndPage) {
  options.before_step = [](FieldTrainer& trainer) {
    if (trainer.steps_done() == 5) poison(trainer);
  };
  EXPECT_EQ(run(), -1);
  for (const char* part :
       {"\"learning_rate\"", "--on-nan retry", "there is no checkpoint yet", "docs/troubleshooting.md"})
    EXPECT_NE(error.find(part), std::string::npos) << part << ": " << error;
}

// Gaussians in front of each other at a pixel's center absorb their opacity there, so depth follows by hand.
TEST(GaussianDepth, IsThatOfWhatAbsorbsTheLight) {
  GaussianSet set = GaussianSet::zeros(2, 0);
  const Camera camera = look_at({0.5F, -1.5F, 0.5F}, {0.5F, 0.5F, 0.5F}, 33, 33, 0.7F);
  const float distances[] = {1.5F, 2.5F}, opacities[] = {0.4F, 0.8F};
  for (size_t i = 0; i < 2; ++i) {
    const Vec3 at = camera.position() + distances[i] * normalized(-1.0F * camera.axis(2));
    set.position[i] = at.x, set.position[2 + i] = at.y, set.position[4 + i] = at.z;
    for (size_t k = 0; k < 3; ++k) set.log_scale[2 * k + i] = std::log(0.2F);
    set.quaternion[i] = 1;
    set.opacity_raw[i] = std::log(opacities[i] / (1 - opacities[i]));
  }
  static CallTimes times = later_is_faster();
  Painter painter(Plan::named("last", painting_calls(2, 0, 33, 33), times));
  const float white[3] = {1, 1, 1};
  painter.draw(set, 0, camera, white);
  Picture picture = painter.picture();
  painter.add_depth(set, picture);
  const size_t middle = 16 * 33 + 16;
  EXPECT_NEAR(picture.opacity[middle], 1 - 0.6 * 0.2, 1e-3);
  EXPECT_NEAR(picture.depth[middle], 0.4 * 1.5 + 0.6 * 0.8 * 2.5, 3e-3);
  EXPECT_NEAR(picture.median_depth[middle], 2.5, 1e-3);  // behind the first 0.6 is left
  // Where nothing is, nothing is far.
  EXPECT_EQ(picture.depth[0] > 0, picture.opacity[0] > 0);
  set.opacity_raw[0] = 1;  // 0.73: now the first absorbs half
  painter.draw(set, 0, camera, white);
  painter.add_depth(set, picture);
  EXPECT_NEAR(picture.median_depth[middle], 1.5, 1e-3);
}

}  // namespace
}  // namespace klab
