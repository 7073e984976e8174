// Less memory for the same step: a batch in parts, and activations that are computed again.
#include <gtest/gtest.h>

#include <cmath>

#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"
#include "labs/learning/train/trainer.h"
#include "tests/learning/naive_plan.h"

namespace klab::learning {
namespace {

/// Five layers with a normalization, whose running averages a second forward must not move, and dropout,
/// whose mask it must draw again; gradients, and the state kept next to the parameters, after one forward and
/// backward.
struct After {
  std::vector<float> gradients, kept;
  int64_t bytes = 0;
};

After look(int64_t keep) {
  constexpr int64_t n = 24;
  const Examples points = make_spirals(n, 1);
  Network net(points.dims);
  net.add<Linear>("linear1", int64_t{32}).add<BatchNorm>("norm").add<Activation>("relu1", activation::relu);
  net.add<Dropout>("dropout", 0.3).add<Linear>("linear2", int64_t{16});
  net.add<Activation>("relu2", activation::relu).add<Linear>("linear3", points.classes);
  net.build(n, 1, keep);
  Step step(net, {});
  const Plan plan = naive_plan(step.calls());
  Profile profile;
  RunOps ops(step.memory());
  step.write(points.values.data(), points.labels.data(), 1, 7);
  ops.run("gradient", plan, profile, [&](Ops& o) { step.loss_and_gradient(o); });
  After after;
  for (const bool decays : {false, true})
    for (const float g : net.parameters().group(decays).gradients) after.gradients.push_back(g);
  for (const Kept& k : net.kept()) after.kept.insert(after.kept.end(), k.values, k.values + volume(k.dims));
  after.bytes = net.activation_bytes();
  return after;
}

TEST(Recompute, GradientsAndRunningAveragesAreTheSameBits) {
  const After all = look(1);
  ASSERT_FALSE(all.kept.empty());
  for (const int64_t keep : {2, 3, 4, 7, 100}) {
    const After some = look(keep);
    EXPECT_EQ(some.gradients, all.gradients) << "one in " << keep;
    EXPECT_EQ(some.kept, all.kept) << "one in " << keep;
  }
  EXPECT_LT(look(3).bytes, all.bytes);
}

TrainerSettings settings_of(int64_t accumulate, int64_t recompute) {
  TrainerSettings s;
  s.model = "softmax";
  s.loader.batch = 48;
  s.loader.prefetch = false;
  s.accumulate = accumulate;
  s.recompute = recompute;
  s.epochs = 4;
  return s;
}

std::vector<double> losses_of(const Dataset& data, const TrainerSettings& s, int steps) {
  Trainer trainer(data, s);
  trainer.use(naive_plan(trainer.calls()));
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(trainer.step());
  return losses;
}

/// The mean of the parts' gradients is the batch's, up to the order of sums.
TEST(Accumulate, PartsOfABatchMakeTheSameStep) {
  const Dataset data = load_dataset("glyphs", 3, 96, 8);
  const std::vector<double> whole = losses_of(data, settings_of(1, 1), 8);
  for (const int64_t parts : {2, 4, 16}) {
    const std::vector<double> summed = losses_of(data, settings_of(parts, 1), 8);
    for (size_t i = 0; i < whole.size(); ++i)
      EXPECT_NEAR(summed[i], whole[i], 1e-4 * whole[i]) << parts << " parts, step " << i;
  }
  TrainerSettings half = settings_of(4, 1);
  half.precision = Precision::f16;
  half.loss_scale = {};
  const std::vector<double> halves = losses_of(data, half, 8);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(halves[i], whole[i], 0.02 * whole[i]) << i;
}

TEST(Accumulate, RefusesPartsThatDoNotDivideABatch) {
  const Dataset data = load_dataset("glyphs", 3, 96, 8);
  try {
    Trainer trainer(data, settings_of(5, 1));
    FAIL() << "48 examples in 5 parts";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("--accumulate 5: does not divide the batch of 48"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace klab::learning
