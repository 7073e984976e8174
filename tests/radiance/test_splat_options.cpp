// Options of training Gaussians: absolute gradients, opacities that fall where the low-pass widens a Gaussian, exposures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "labs/radiance/run/fields.h"
#include "labs/radiance/splat/exposure.h"
#include "labs/radiance/splat/gaussian_field.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/splat/webp_picture.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"
#include "tests/radiance/varied_gaussians.h"

namespace klab {
namespace {

constexpr int kPictureSide = 64;

Plan plan_of_painting(const Painting& how) {
  static CallTimes times = later_is_faster();
  return Plan::named("last", splat_training_calls(1, 0, kPictureSide, kPictureSide, how), times);
}

constexpr double kOpacity = 0.95;

/// One round Gaussian of this deviation in pixels, at a corner of four pixels.
GaussianSet round_gaussian(const Camera& camera, float pixels, bool antialiased) {
  GaussianSet set = GaussianSet::zeros(1, 0);
  set.antialiased = antialiased;
  const float distance = length(camera.position() - Vec3{0.5F, 0.5F, 0.5F});
  for (size_t k = 0; k < 3; ++k)
    set.position[k] = 0.5F, set.log_scale[k] = std::log(pixels * distance / camera.fx);
  set.quaternion[0] = 1;
  set.opacity_raw[0] = float(std::log(kOpacity / (1 - kOpacity)));
  return set;
}

/// Light that a picture of a Gaussian keeps back: the sum of alpha over pixels.
double area_of(float pixels, bool antialiased) {
  const Camera camera = look_at({2, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}, kPictureSide, kPictureSide, 0.6F);
  Painter painter(plan_of_painting({.antialiased = true}));
  const float black[3] = {0, 0, 0};
  painter.draw(round_gaussian(camera, pixels, antialiased), 0, camera, black);
  return double(kPictureSide) * kPictureSide -
         std::accumulate(painter.transmittance().begin(), painter.transmittance().end(), 0.0);
}

/// The integral of a bell: opacity·2π·σ². Alpha below 1/255 is not drawn, a hundredth of what these have at most; sums over pixels of a bell
/// that the low-pass has widened err less than that.
TEST(Antialias, AGaussianCoversAsMuchAtEverySize) {
  for (const float pixels : {0.25F, 0.5F, 1.0F, 3.0F}) {
    const double area = kOpacity * 2 * std::numbers::pi * double(pixels) * double(pixels);
    EXPECT_NEAR(area_of(pixels, true), area, 0.02 * area) << pixels;
  }
  const double widened = kOpacity * 2 * std::numbers::pi * (0.25 * 0.25 + 0.3);
  EXPECT_NEAR(area_of(0.25F, false), widened, 0.02 * widened) << "without it the widened one covers more";
}

GaussianConfig small_gaussians() {
  GaussianConfig config;
  config.initial = 60, config.most = 80, config.sh_degree = 1;
  return config;
}

std::unique_ptr<GaussianTrainer> trainer_of(const GaussianConfig& config) {
  CallTimes times = later_is_faster();
  FieldSettings settings;
  settings.field = "gaussians", settings.gaussians = config;
  return std::make_unique<GaussianTrainer>(small_scene(), config,
                                           Plan::named("last", run_calls(settings, 1, "cpu"), times), 3);
}

TEST(Antialias, AModelIsDrawnAsItWasTrained) {
  const TempFolder folder;
  GaussianConfig config = small_gaussians();
  config.antialias = "yes";
  const auto trainer = trainer_of(config);
  for (int step = 0; step < 3; ++step) trainer->step(0);
  const GaussianModel model = trainer->model();
  EXPECT_TRUE(model.set.antialiased);
  const std::filesystem::path file = folder.path() / "model.safetensors";
  model.save(file);
  EXPECT_TRUE(GaussianModel::load(file).set.antialiased);
  trainer->save(folder.path() / "checkpoint.safetensors", {});
  const auto again = trainer_of(config);
  again->restore(TensorFile(folder.path() / "checkpoint.safetensors"));
  trainer->step(0), again->step(0);
  EXPECT_EQ(again->model().set.position, trainer->model().set.position);
  EXPECT_TRUE(again->model().set.antialiased);
}

TEST(Antialias, FilesOfGaussiansSayIt) {
  const TempFolder folder;
  for (const bool antialiased : {false, true}) {
    GaussianSet set = varied_set(20, 1);
    set.antialiased = antialiased;
    for (const std::string ending : {"ply", "spz", "sog"}) {
      if (ending == "sog" && !has_webp()) continue;
      const std::filesystem::path file = folder.path() / ("a." + ending);
      save_gaussians(file, set, {});
      EXPECT_EQ(load_gaussians(file, {}).antialiased, antialiased) << ending;
      EXPECT_EQ(load_lone_gaussians(file, nullptr)->as_gaussians()->config.antialias,
                antialiased ? "yes" : "no")
          << ending;
    }
  }
}

/// Returns the sums that decide which Gaussians are divided, after one step.
std::vector<float> pulls_after_a_step(const std::string& gradient, double done) {
  GaussianConfig config = small_gaussians();
  config.density_gradient = gradient;
  const auto trainer = trainer_of(config);
  trainer->step(done);
  const TempFolder folder;
  trainer->save(folder.path() / "c.safetensors", {});
  std::vector<float> pulls(size_t(config.initial));
  TensorFile(folder.path() / "c.safetensors").read("seen.pull", "F32", {config.initial}, pulls.data());
  return pulls;
}

TEST(AbsoluteGradients, DecideWhichGaussiansAreDivided) {
  const std::vector<float> sums = pulls_after_a_step("sum", 0), absolute = pulls_after_a_step("absolute", 0);
  int larger = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    EXPECT_GE(absolute[i], 0.999F * sums[i]) << i;
    larger += absolute[i] > 1.1F * sums[i] ? 1 : 0;
  }
  EXPECT_GT(larger, 10) << "pixels that pull to opposite sides cancel in sums alone";
  // When no Gaussian is added any more, they are left out.
  EXPECT_EQ(pulls_after_a_step("absolute", 0.9), pulls_after_a_step("sum", 0.9));
}

std::vector<float> some_picture(uint32_t seed) {
  std::vector<float> picture(3 * 40);
  for (size_t i = 0; i < picture.size(); ++i) picture[i] = float((i * 37 + seed * 11) % 64 + 1) / 64;
  return picture;
}

/// Trains factors alone, with views that are these multiples of one picture.
Exposures fitted_exposures(const std::vector<std::array<float, 3>>& multiples, int rounds) {
  Exposures exposures(multiples.size(), 0.01);
  const std::vector<float> picture = some_picture(1);
  std::vector<float> exposed, gradient(picture.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t view = 0; view < multiples.size(); ++view) {
      exposures.expose(view, picture, exposed);
      for (size_t i = 0; i < picture.size(); ++i)
        gradient[i] = exposed[i] - multiples[view][i / (picture.size() / 3)] * picture[i];
      exposures.update(view, exposures.backward(view, exposed, gradient), 1);
    }
  return exposures;
}

TEST(Exposure, GradientsMatchDifferences) {
  const Exposures exposures = fitted_exposures({{1.5F, 1, 0.7F}, {0.8F, 1.1F, 1}}, 20);
  const std::array<float, 3> factors = exposures.factors(0);
  ASSERT_NE(factors[0], 1);
  const std::vector<float> picture = some_picture(1), target = some_picture(2);
  std::vector<float> exposed, gradient(picture.size());
  exposures.expose(0, picture, exposed);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = exposed[i] - target[i];
  const std::array<double, 3> of_factors = exposures.backward(0, exposed, gradient);
  constexpr double kStep = 1e-3;
  const auto loss_with = [&](auto&& change) {
    double sum = 0;
    for (size_t i = 0; i < picture.size(); ++i) {
      const size_t c = i / (picture.size() / 3);
      sum += 0.5 * std::pow(change(i, c, double(factors[c]), double(picture[i])) - double(target[i]), 2);
    }
    return sum;
  };
  const auto slope = [&](auto&& change) {
    return (loss_with([&](auto... x) { return change(x..., kStep); }) -
            loss_with([&](auto... x) { return change(x..., -kStep); })) /
           (2 * kStep);
  };
  for (size_t c = 0; c < 3; ++c)
    EXPECT_NEAR(of_factors[c], slope([&](size_t, size_t channel, double f, double x, double step) {
                  return f * (channel == c ? std::exp(step) : 1) * x;
                }),
                1e-4);
  for (const size_t i : {size_t{0}, size_t{50}, size_t{119}})
    EXPECT_NEAR(gradient[i], slope([&](size_t at, size_t, double f, double x, double step) {
                  return f * (x + (at == i ? step : 0));
                }),
                1e-4);
}

TEST(Exposure, FindsTheFactorsOfPictures) {
  const std::vector<std::array<float, 3>> multiples = {{2, 1, 0.5F}, {1, 1, 1}, {0.5F, 1, 2}};
  const Exposures exposures = fitted_exposures(multiples, 600);
  for (size_t view = 0; view < multiples.size(); ++view)
    for (size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(exposures.factors(view)[c], multiples[view][c], 0.02F * multiples[view][c])
          << view << " " << c;
}

TEST(Exposure, DarkPicturesGetSmallerFactorsAndACheckpointKeepsThem) {
  Scene scene = small_scene();
  for (size_t view = 1; view < scene.train.size(); view += 2)
    for (size_t i = 0; i < scene.train[view].image.rgba.size(); ++i)
      if (i % 4 != 3) scene.train[view].image.rgba[i] = uint8_t(scene.train[view].image.rgba[i] / 2);
  GaussianConfig config = small_gaussians();
  config.background = "black";
  config.exposure_rate = 0.05;
  const Plan plan = plan_of_painting({});
  SplatTrainer trainer(scene, splat_options(config), plan, 3);
  for (int step = 0; step < 400; ++step) trainer.step(0.1);
  double bright = 0, dark = 0;
  for (size_t view = 0; view < scene.train.size(); ++view)
    (view % 2 == 0 ? bright : dark) +=
        double(trainer.exposures().factors(view)[1]) / double(scene.train.size() / 2);
  EXPECT_GT(bright, 1.1 * dark);
  std::vector<TensorView> tensors;
  nlohmann::json state;
  trainer.save_state(tensors, state);
  const TempFolder folder;
  save_tensors(folder.path() / "c.safetensors", tensors, {});
  SplatTrainer again(scene, splat_options(config), plan, 3, trainer.set());
  again.restore_state(TensorFile(folder.path() / "c.safetensors"), state, "here");
  EXPECT_EQ(again.exposures().factors(1), trainer.exposures().factors(1));
  trainer.step(0.1), again.step(0.1);
  EXPECT_EQ(again.exposures().factors(1), trainer.exposures().factors(1));
  EXPECT_EQ(again.set().position, trainer.set().position);
}

}  // namespace
}  // namespace klab
