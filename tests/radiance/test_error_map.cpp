// Pixels drawn by their loss: probabilities and weights belong together, lists are drawn as often as their
// weights, and the expected gradient of a training is the one of pixels drawn alike.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "harness/program/measure_ops.h"
#include "harness/program/run_ops.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/train/error_map.h"
#include "labs/radiance/train/trainer.h"
#include "reference/dropout_fwd/philox.h"
#include "reference/error_map_draw/error_map_draw.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

constexpr int64_t kBlock = ErrorMapDraw::kBlock, kList = ErrorMap::kList;

/// A map of the small scene in a memory of its own.
class MapOnOps {
 public:
  explicit MapOnOps(double share) : map(small_scene(), share) {
    ViewData data = view_data_of(small_scene());
    const int64_t before = data.listed;
    data.listed += map.listed();
    const ViewTensors views = declare_views(memory_, data);
    rays = kList * map.views();
    map.declare(memory_, views, before, rays);
    numbers_ = memory_.tensor<int32_t>("numbers", 1, int64_t(sizeof(StepNumbers) / sizeof(int32_t)));
    weight_ = memory_.tensor<float>("weight", 1, rays);
    const ViewLoader loader(small_scene(), views);
    loader.tie(memory_);
    memory_.allocate();
    loader.write(memory_);
    map.write(memory_);
    CallTimes none(std::vector<CallTime>{});
    MeasureOps all(memory_);
    map.draw(all);
    map.weigh(all, numbers_, weight_);
    map.learn(all, numbers_, weight_);
    plan_ = Plan::named("naive", all.calls(), none);
  }
  void draw(uint64_t turn) {
    map.write_turn(memory_, 7, turn);
    run([&](Ops& ops) { map.draw(ops); });
  }
  void draw_again(uint64_t turn) {
    map.write_turn(memory_, 7, turn);
    run([&](Ops& ops) { map.draw_again(ops); });
  }
  /// Lets the rays of a step teach the map what the value of their pixel is: a ray of each place, more or less.
  void learn(uint32_t step, float (*value)(int32_t pixel)) {
    StepNumbers n;
    n.step[0] = step;
    n.rays = n.whole = int32_t(rays);
    memory_.write(numbers_, &n, sizeof n);
    std::vector<float> ones(size_t(rays), 1.0F);
    memory_.write(weight_, ones.data(), ones.size() * sizeof(float));
    run([&](Ops& ops) { map.weigh(ops, numbers_, weight_); });
    const float* weights = map.weights;
    for (int64_t r = 0; r < rays; ++r) {
      const auto words = dropout::random_words({uint32_t(r), 0, step, 0}, {0, 0});
      const int64_t at = int64_t(uint64_t(words[0]) * uint64_t(map.views()) >> 32) * kList +
                         int64_t(uint64_t(words[1]) * uint64_t(kList) >> 32);
      EXPECT_EQ(static_cast<float*>(weight_)[r], weights[at]) << "ray " << r;
      static_cast<float*>(weight_)[r] = value(pixels()[size_t(at)]);
    }
    run([&](Ops& ops) { map.learn(ops, numbers_, weight_); });
  }
  /// Losses that differ by orders of magnitude.
  void teach() {
    for (uint32_t turn = 0; turn < 3; ++turn) {
      draw(turn);
      learn(turn, [](int32_t pixel) { return std::exp2(-float(pixel % 9)); });
    }
  }
  std::span<const int32_t> pixels() const {
    return {static_cast<int32_t*>(map.pixels), size_t(map.listed())};
  }
  /// Returns the probability of the pixel at a place of a view's list.
  double probability(int64_t view, int64_t k) const {
    const float* weights = map.weights;
    return 1 / (double(small_scene().train[size_t(view)].pixels()) * double(weights[view * kList + k]));
  }

  ErrorMap map;
  int64_t rays = 0;

 private:
  void run(const RunOps::Body& body) { ops_.run("map", plan_, profile_, body); }
  Memory memory_{cpu_backend()};
  RunOps ops_{memory_};
  Handle<int32_t> numbers_;
  Handle<float> weight_;
  Plan plan_;
  Profile profile_;
};

TEST(ErrorMap, ProbabilitiesAddUpToOneAndLeaveEveryPixelItsShare) {
  MapOnOps m(0.75);
  const int64_t n = small_scene().train[0].pixels(), blocks = (n + kBlock - 1) / kBlock;
  m.draw(0);
  EXPECT_NEAR(m.probability(0, 3), 1 / double(n), 1e-9) << "nothing is known";
  m.teach();
  m.draw(9);
  std::map<int64_t, double> probabilities;  // of a pixel, by block: lists are long enough for all
  for (int64_t k = 0; k < kList; ++k) probabilities[m.pixels()[size_t(k)] / kBlock] = m.probability(0, k);
  ASSERT_EQ(int64_t(probabilities.size()), blocks);
  double sum = 0, least = 1, most = 0;
  for (const auto& [block, p] : probabilities) {
    sum += p * double(std::min(kBlock, n - block * kBlock));
    least = std::min(least, p);
    most = std::max(most, p);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_GE(least, 0.2499 / double(n));
  EXPECT_GT(most, 1.2 / double(n)) << "some are drawn more often";
}

TEST(ErrorMap, AWeightedMeanOverListsIsTheMeanOverPixels) {
  MapOnOps m(0.75);
  m.teach();
  const int64_t n = small_scene().train[1].pixels();
  const auto value = [](int64_t pixel) { return std::sin(0.01 * double(pixel)) + 2; };
  double expected = 0, sum = 0, square = 0, unweighted = 0;
  for (int64_t i = 0; i < n; ++i) expected += value(i) / double(n);
  constexpr int kLists = 60;
  for (int list = 0; list < kLists; ++list) {
    m.draw(uint64_t(100 + list));
    double mean = 0;
    for (int64_t k = 0; k < kList; ++k) {
      const int32_t pixel = m.pixels()[size_t(kList + k)];
      ASSERT_GE(pixel, 0);
      ASSERT_LT(pixel, n);
      mean += value(pixel) / (double(n) * m.probability(1, k)) / double(kList);
      unweighted += value(pixel) / double(kList) / kLists;
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
  MapOnOps whole(0.5), resumed(0.5);
  whole.teach();
  whole.draw(11);
  whole.learn(5, [](int32_t) { return 5.0F; });
  const auto from = whole.map.state(), to = resumed.map.state();
  for (size_t t = 0; t < from.size(); ++t) {
    const auto count =
        std::accumulate(from[t].shape.begin(), from[t].shape.end(), int64_t(1), std::multiplies<>());
    std::copy_n(static_cast<const float*>(from[t].data), count,
                static_cast<float*>(const_cast<void*>(to[t].data)));
  }
  resumed.draw_again(11);
  EXPECT_TRUE(std::ranges::equal(whole.pixels(), resumed.pixels()));
  const std::vector<int32_t> before(whole.pixels().begin(), whole.pixels().end());
  whole.draw(12);
  resumed.draw(12);
  EXPECT_TRUE(std::ranges::equal(whole.pixels(), resumed.pixels()));
  EXPECT_FALSE(std::ranges::equal(whole.pixels(), before));
}

/// The plan of a training with the error map, or without it.
const Plan& error_plan() {
  static const Plan plan = [] {
    Config c = small_config();
    c.sampling = "error";
    CallTimes times = later_is_faster();
    return Plan::named("best", training_calls(c, small_scene().cascades), times);
  }();
  return plan;
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
  Trainer trainer(small_scene(), c, error_plan(), 5);
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

TEST(ErrorMap, ResumesATrainingBitByBit) {
  Config c = small_config();
  c.sampling = "error";
  const Plan& plan = error_plan();
  Trainer whole(small_scene(), c, plan, 5), first(small_scene(), c, plan, 5),
      second(small_scene(), c, plan, 9);
  const TempFolder folder;
  const auto file = folder / "checkpoint.safetensors";
  for (int i = 0; i < 40; ++i) whole.step(0);
  for (int i = 0; i < 21; ++i) first.step(0);
  first.save(file, {});
  second.restore(TensorFile(file));
  for (int i = 21; i < 40; ++i) second.step(0);
  for (const Part part : kParts) {
    const Array<float>&a = whole.model().of(part), &b = second.model().of(part);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
  }
}

TEST(ErrorMap, DrawsTheSamePixelsOnTheExecutor) {
  Config c = small_config();
  c.sampling = "error";
  const BackendChoice simt = backend_named("simt");
  CallTimes untimed = later_is_faster();
  const Plan plan =
      Plan::named("last", training_calls(c, small_scene().cascades, {}, 0), untimed, simt.ladder);
  Trainer here(small_scene(), c, error_plan(), 5), there(small_scene(), c, plan, 5, simt.backend, simt.sizes);
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
