// Pixels drawn by their loss: probabilities and weights belong together, lists are drawn as often as their
// weights, and the expected gradient of a training is the one of pixels drawn alike.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "labs/radiance/run/fields.h"
#include "labs/radiance/train/error_map.h"
#include "labs/radiance/train/trainer.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

/// Losses that differ by orders of magnitude, learned at all places of the lists.
void teach(ErrorMap& map) {
  for (int64_t turn = 0; turn < 3; ++turn) {
    map.draw(7, uint64_t(turn));
    for (int64_t v = 0; v < map.views(); ++v)
      for (int64_t k = 0; k < ErrorMap::kList; ++k)
        map.learn(v, k, std::exp2(-float(map.pixels()[size_t(v * ErrorMap::kList + k)] % 9)));
  }
}

TEST(ErrorMap, ProbabilitiesAddUpToOneAndLeaveEveryPixelItsShare) {
  ErrorMap map(small_scene(), 0.75);
  const int64_t n = small_scene().train[0].pixels();
  EXPECT_NEAR(map.probability(0, 3), 1 / double(n), 1e-12) << "nothing is known";
  teach(map);
  map.draw(7, 9);
  double sum = 0, least = 1, most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double p = map.probability(0, i);
    sum += p;
    least = std::min(least, p);
    most = std::max(most, p);
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_GE(least, 0.2499 / double(n));
  EXPECT_GT(most, 1.2 / double(n)) << "some are drawn more often";
}

TEST(ErrorMap, AWeightedMeanOverListsIsTheMeanOverPixels) {
  ErrorMap map(small_scene(), 0.75);
  teach(map);
  const int64_t n = small_scene().train[1].pixels();
  const auto value = [](int64_t pixel) { return std::sin(0.01 * double(pixel)) + 2; };
  double expected = 0, sum = 0, square = 0, unweighted = 0;
  for (int64_t i = 0; i < n; ++i) expected += value(i) / double(n);
  constexpr int kLists = 60;
  for (int list = 0; list < kLists; ++list) {
    map.draw(3, uint64_t(100 + list));
    double mean = 0;
    for (int64_t k = 0; k < ErrorMap::kList; ++k) {
      const int32_t pixel = map.pixels()[size_t(ErrorMap::kList + k)];
      ASSERT_GE(pixel, 0);
      ASSERT_LT(pixel, n);
      ASSERT_NEAR(double(map.weight(1, k)) * double(n) * map.probability(1, pixel), 1, 1e-5);
      mean += double(map.weight(1, k)) * value(pixel) / double(ErrorMap::kList);
      unweighted += value(pixel) / double(ErrorMap::kList) / kLists;
    }
    sum += mean / kLists;
    square += mean * mean / kLists;
  }
  const double error = std::sqrt(std::max(square - sum * sum, 0.0) / kLists);
  EXPECT_NEAR(sum, expected, 5 * error + 1e-6);
  EXPECT_GT(std::abs(unweighted - expected), 20 * error)
      << "without weights it is another mean, so the test can fail";
}

TEST(ErrorMap, ListsComeBackAfterACheckpoint) {
  ErrorMap whole(small_scene(), 0.5), resumed(small_scene(), 0.5);
  teach(whole);
  whole.draw(7, 11);
  for (int64_t k = 0; k < 100; ++k) whole.learn(0, k, 5);
  const auto from = whole.state(), to = resumed.state();
  for (size_t t = 0; t < from.size(); ++t) {
    const auto count =
        std::accumulate(from[t].shape.begin(), from[t].shape.end(), int64_t(1), std::multiplies<>());
    std::copy_n(static_cast<const float*>(from[t].data), count,
                static_cast<float*>(const_cast<void*>(to[t].data)));
  }
  resumed.draw_again(7, 11);
  EXPECT_TRUE(std::ranges::equal(whole.pixels(), resumed.pixels()));
  whole.draw(7, 12);
  resumed.draw(7, 12);
  EXPECT_TRUE(std::ranges::equal(whole.pixels(), resumed.pixels()));
}

/// Sums over a direction of the gradient of the networks, batch by batch, of a training that stands nearly still.
struct Measured {
  double mean = 0, error = 0;
};
Measured gradient_along(const std::string& sampling) {
  Config c = small_config();
  c.sampling = sampling;
  c.error_share = 0.9;
  c.learning_rate = 1e-9;
  c.ema = 0;
  c.background = "white";
  c.batch_samples = 1024;
  Trainer trainer(small_scene(), c, small_plan(), 5);
  constexpr int kLearned = 64, kSteps = 250;
  double sum = 0, square = 0;
  for (int i = 0; i < kLearned + kSteps; ++i) {
    trainer.loss_and_gradient();
    double along = 0;
    for (const Part part : {Part::density, Part::color}) {
      const Array<float>& g = trainer.gradient(part);
      for (int64_t k = 0; k < g.size(); ++k) along += double(g[k]) * std::cos(double(k));
    }
    trainer.step(0);
    if (i < kLearned) continue;
    sum += along / kSteps;
    square += along * along / kSteps;
  }
  return {sum, std::sqrt((square - sum * sum) / kSteps)};
}

TEST(ErrorMap, TheExpectedGradientIsThatOfUniformPixels) {
  const Measured uniform = gradient_along("uniform"), error = gradient_along("error");
  EXPECT_GT(std::abs(uniform.mean), 10 * uniform.error) << "there is something to compare";
  EXPECT_NEAR(error.mean, uniform.mean, 4.5 * std::hypot(uniform.error, error.error));
}

TEST(ErrorMap, ATrainingGoesOnFromACheckpointToTheBit) {
  Config c = small_config();
  c.sampling = "error";
  const Plan& plan = small_plan();
  Trainer whole(small_scene(), c, plan, 5), first(small_scene(), c, plan, 5),
      second(small_scene(), c, plan, 9);
  const auto file = std::filesystem::temp_directory_path() / ("klab_error_map_" + std::to_string(::getpid()));
  for (int i = 0; i < 40; ++i) whole.step(0);
  for (int i = 0; i < 21; ++i) first.step(0);
  first.save(file, {});
  second.restore(TensorFile(file));
  for (int i = 21; i < 40; ++i) second.step(0);
  for (const Part part : kParts) {
    const Array<float>&a = whole.model().of(part), &b = second.model().of(part);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
  }
  std::filesystem::remove(file);
}

TEST(ErrorMap, DrawsTheSamePixelsOnTheExecutor) {
  Config c = small_config();
  c.sampling = "error";
  const BackendChoice simt = backend_named("simt");
  CallTimes untimed = later_is_faster();
  const Plan plan =
      Plan::named("last", training_calls(c, small_scene().cascades, {}, 0), untimed, simt.ladder);
  Trainer here(small_scene(), c, small_plan(), 5), there(small_scene(), c, plan, 5, simt.backend, simt.sizes);
  for (int i = 0; i < 3; ++i) {
    const StepReport a = here.step(0), b = there.step(0);
    EXPECT_EQ(a.rays, b.rays) << "step " << i;
    // Three steps of sums in another order.
    EXPECT_NEAR(a.loss, b.loss, 1e-3 * a.loss) << "step " << i;
  }
  // What levels hold is told there, too.
  const std::vector<LevelUse> uses = there.level_uses(), same = here.level_uses();
  ASSERT_EQ(uses.size(), same.size());
  for (size_t l = 0; l < uses.size(); ++l) {
    EXPECT_EQ(uses[l].points, same[l].points) << l;
    EXPECT_NEAR(uses[l].gradient, same[l].gradient, 0.02 * same[l].gradient) << l;
    EXPECT_NEAR(uses[l].moved, same[l].moved, 0.01) << l;
  }
}

TEST(ErrorMap, IsRefusedWherePicturesTakeTurns) {
  FieldSettings settings;
  EXPECT_NO_THROW(require_turns(settings));
  settings.hash = small_config();
  settings.hash.sampling = "error";
  EXPECT_THROW(require_turns(settings), std::runtime_error);
  EXPECT_NO_THROW(require_backend(settings, "simt"));
}

}  // namespace
}  // namespace klab
