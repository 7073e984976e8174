// Training in fewer bits: the loss scale's rules, gradients that vanish without it, and runs resumed from a
// checkpoint.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/program/loss_scale.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/train/trainer.h"
#include "tests/core/message_of.h"
#include "tests/core/temp_folder.h"
#include "tests/learning/naive_plan.h"

namespace klab::learning {
namespace {

TEST(LossScale, DoublesAfterGoodStepsAndHalvesOnABadOne) {
  LossScale scale({});
  EXPECT_EQ(scale.value(), 65536);
  for (int i = 0; i < 1999; ++i) EXPECT_TRUE(scale.update(true));
  EXPECT_EQ(scale.value(), 65536);
  EXPECT_TRUE(scale.update(true));
  EXPECT_EQ(scale.value(), 131072);
  EXPECT_FALSE(scale.update(false));
  EXPECT_EQ(scale.value(), 65536);
  EXPECT_EQ(scale.state().skipped, 1);
  for (int i = 0; i < 1999; ++i) scale.update(true);  // a bad step restarts the count
  EXPECT_EQ(scale.value(), 65536);
  for (int i = 0; i < 100; ++i) scale.update(false);
  EXPECT_EQ(scale.value(), 0x1p-24);
  EXPECT_EQ(scale.state().in_a_row, 100);
}

TEST(LossScale, AStaticOneSkipsAndStays) {
  LossScale scale({.dynamic = false, .start = 8, .grow_after = 1});
  EXPECT_TRUE(scale.update(true));
  EXPECT_FALSE(scale.update(false));
  EXPECT_EQ(scale.value(), 8);
  EXPECT_EQ(scale.state().skipped, 1);
}

TEST(LossScale, IsReadFromTheCommandLineAndFromMetadata) {
  LossScaleSettings s;
  set_loss_scale(s, "128");
  EXPECT_FALSE(s.dynamic);
  EXPECT_EQ(s.start, 128);
  set_loss_scale(s, "dynamic");
  EXPECT_TRUE(s.dynamic);
  for (const char* bad : {"", "x", "1x", "dynamical"})
    EXPECT_TRUE(has(message_of([&] { set_loss_scale(s, bad); }), "--loss-scale")) << bad;
  s = {.dynamic = false, .start = 3, .grow_after = 7, .grow = 4, .back_off = 0.25, .most = 100, .least = 2};
  const LossScaleSettings read = loss_scale_settings_from(to_json(s), "x");
  EXPECT_EQ(to_json(read), to_json(s));
  LossScale scale(s);
  scale.update(false);
  EXPECT_EQ(to_json(loss_scale_state_from(to_json(scale.state()), "x")), to_json(scale.state()));
  auto broken = to_json(s);
  broken["start"] = -1;
  EXPECT_TRUE(has(message_of([&] { loss_scale_settings_from(broken, "file"); }), "file: a loss scale of -1"));
  EXPECT_TRUE(has(message_of([&] {
                    loss_scale_state_from({{"value", 0}}, "file");
                  }),
                  "file"))
      << "a scale of 0";
}

TEST(Rounding, MatchesTheFormatsHeader) {
  for (const NarrowFormat& f : kNarrowFormats) {
    const Rounding16 rounding(f);
    const auto same = [&](float x) {
      const double right = decode(f, encode(f, double(x)));
      const float now = rounding(x);
      return (std::isnan(right) ? std::isnan(now)
                                : double(now) == right && std::signbit(now) == std::signbit(right));
    };
    // Every pattern of the upper 16 bits with lower ones at and around ties.
    for (uint32_t upper = 0; upper < 1U << 16; ++upper)
      for (const uint32_t lower : {0U, 1U, 0x0FFFU, 0x1000U, 0x1001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
        const auto x = std::bit_cast<float>(upper << 16 | lower);
        if (std::isnan(x)) continue;
        ASSERT_TRUE(same(x)) << f.name << " of " << x << " is " << rounding(x);
      }
  }
  const float x[] = {1e-9F, 70000, 1, 0};
  float y[4];
  const Lost lost = round_to(kF16, 1, x, y, 4);
  EXPECT_EQ(lost.numbers, 3);
  EXPECT_EQ(lost.to_zero, 1);
  EXPECT_EQ(lost.infinite, 1);
  round_to(kF16, 65536, x, y, 1);
  EXPECT_GT(y[0], 0);
}

TEST(LossScale, RefusesInvalidScales) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, infinity, -infinity, std::nan(""), 1e-60, 1e60})
    EXPECT_TRUE(has(message_of([&] { LossScale({.start = bad}); }), "--loss-scale")) << bad;
  EXPECT_TRUE(has(message_of([] { LossScale({.grow_after = 0}); }), "--scale-after 0"));
  EXPECT_TRUE(has(message_of([] { LossScale({.grow = 1}); }), "factor above 1"));
  EXPECT_TRUE(has(message_of([] { LossScale({.back_off = 1}); }), "between 0 and 1"));
  EXPECT_TRUE(has(message_of([] { LossScale({}).restore({.value = 0}); }), "start again"));
  EXPECT_TRUE(has(message_of([] { precision_of("fp16"); }), "f32, bf16 or f16"));
}

/// Five layers, the upper two small, as heads of residual branches begin. Returns the largest change of the
/// first layer in a step.
double moved(Precision precision, const LossScaleSettings& settings, Lost& lost) {
  constexpr int64_t n = 30;
  const Examples points = make_spirals(n, 1);
  Network net(points.dims);
  net.add<Linear>("linear1", int64_t{32}).add<Activation>("relu1", activation::relu);
  net.add<Linear>("linear2", int64_t{32}).add<Linear>("linear3", points.classes);
  net.build(n, 1);
  for (Tensor& t : net.parameters().tensors())
    if (t.name == "linear2.weight" || t.name == "linear3.weight")
      for (int64_t i = 0; i < t.size(); ++i) t.value[i] *= 0x1p-11F;
  const LossScale scale(settings);
  Step step(net, {.optimizer = {.name = "sgd", .rate = 1e3, .decay = 0},
                  .precision = precision,
                  .rounds_weights = false});
  Tensor& first = net.parameters().tensors().front();
  const std::vector<float> before(first.value, first.value + first.size());
  Profile profile;
  RunOps ops(step.memory());
  const Plan plan = naive_plan(step.calls());
  step.write(points.values.data(), points.labels.data(), 1, 0,
             precision == Precision::f32 ? 1 : scale.value());
  ops.run("gradient", plan, profile, [&](Ops& o) { step.loss_and_gradient(o); });
  lost = step.lost();
  step.write_rate(1);
  ops.run("update", plan, profile, [&](Ops& o) { step.update(o); });
  double most = 0;
  for (int64_t i = 0; i < first.size(); ++i)
    most = std::max(most, std::abs(double(first.value[i]) - double(before[size_t(i)])));
  return most;
}

TEST(HalfPrecision, ScaleOneFreezesTheFirstLayerAndADynamicScaleMovesIt) {
  Lost none, lost, kept, brain;
  const LossScaleSettings one{.dynamic = false, .start = 1};
  const double right = moved(Precision::f32, one, none);
  ASSERT_GT(right, 0);
  EXPECT_EQ(moved(Precision::f16, one, lost), 0);
  EXPECT_GT(lost.share(), 0.3);
  EXPECT_NEAR(moved(Precision::f16, {}, kept) / right, 1, 0.02);
  EXPECT_LT(kept.share(), lost.share() / 4);
  EXPECT_NEAR(moved(Precision::bf16, one, brain) / right, 1, 0.1);  // has float's range: needs no scale
}

TrainerSettings spirals(Precision precision, const LossScaleSettings& scale) {
  TrainerSettings s{.model = "mlp",
                    .schedule = "cosine",
                    .optimizer = {.name = "adamw", .rate = 5e-3},
                    .loader = {.batch = 30},
                    .epochs = 30,
                    .precision = precision,
                    .loss_scale = scale};
  return s;
}

TEST(Trainer, LearnsInSixteenBits) {
  const Dataset data{"spirals", make_spirals(900, 1), make_spirals(300, 2)};
  for (const Precision p : {Precision::f16, Precision::bf16}) {
    Trainer trainer(data, spirals(p, {}));
    trainer.use(naive_plan(trainer.calls()));
    while (trainer.steps_done() < trainer.steps()) trainer.step();
    EXPECT_GT(trainer.evaluate(data.test).accuracy(), 0.95) << name_of(p);
    Parameters::Group& matrices = trainer.network().parameters().group(true);
    for (const float w : matrices.values) {
      const float rounded =
          p == Precision::f16 ? float_from_half(half_from_float(w)) : float_from(to_bfloat16(w));
      ASSERT_EQ(w, rounded) << name_of(p);
    }
  }
}

/// A scale far too large: each step overflows, is skipped and counted, and halves it, until gradients are finite again.
TEST(Trainer, SkipsAndCountsOverflows) {
  const Dataset data{"spirals", make_spirals(900, 1), make_spirals(300, 2)};
  Trainer trainer(data, spirals(Precision::f16, {.start = 0x1p30}));
  trainer.use(naive_plan(trainer.calls()));
  std::vector<float> before, after;
  const auto weights = [&] {
    const std::span<float> v = trainer.network().parameters().group(true).values;
    return std::vector<float>(v.begin(), v.end());
  };
  before = weights();
  const auto biases = [&] {
    const std::span<float> v = trainer.network().parameters().group(false).values;
    return std::vector<float>(v.begin(), v.end());
  };
  const std::vector<float> biases_before = biases();
  trainer.step();
  EXPECT_EQ(trainer.loss_scale().state().skipped, 1);
  EXPECT_EQ(trainer.loss_scale().value(), 0x1p29);
  EXPECT_EQ(weights(), before);
  EXPECT_EQ(biases(), biases_before);
  while (trainer.loss_scale().state().in_a_row > 0) trainer.step();
  const int64_t skipped = trainer.loss_scale().state().skipped;
  EXPECT_EQ(trainer.steps_done(), skipped + 1);
  EXPECT_EQ(trainer.loss_scale().value(), std::ldexp(1.0, 30 - int(skipped)));
  EXPECT_NE(weights(), before);
  EXPECT_EQ(int64_t(trainer.scales().size()), skipped + 1);
}

/// A static scale that is too large never gets better: the run ends with the reason.
TEST(Trainer, GivesUpWhereNoStepIsFinite) {
  const Dataset data{"spirals", make_spirals(90, 1), make_spirals(30, 2)};
  Trainer trainer(data, spirals(Precision::f16, {.dynamic = false, .start = 0x1p40}));
  trainer.use(naive_plan(trainer.calls()));
  const std::string said = message_of([&] {
    for (int64_t i = 0; i <= Trainer::kMostSkipped; ++i) trainer.step();
  });
  EXPECT_TRUE(has(said, "64 steps in a row")) << said;
}

TEST(Trainer, ResumesInSixteenBitsToTheBitAndRefusesAnother) {
  const TempFolder folder;
  const Dataset data{"spirals", make_spirals(90, 1), make_spirals(30, 2)};
  const TrainerSettings s = spirals(Precision::f16, {.start = 0x1p24, .grow_after = 3});
  Trainer whole(data, s), before(data, s), after(data, s), other(data, spirals(Precision::f32, {}));
  const Plan plan = naive_plan(whole.calls());
  for (Trainer* t : {&whole, &before, &after, &other}) t->use(plan);
  for (int i = 0; i < 30; ++i) whole.step();
  for (int i = 0; i < 17; ++i) before.step();
  before.save(folder / "checkpoint", {});
  std::map<std::string, std::string> words;
  after.restore(folder / "checkpoint", words);
  EXPECT_EQ(after.loss_scale().value(), before.loss_scale().value());
  EXPECT_EQ(after.loss_scale().state().skipped, before.loss_scale().state().skipped);
  double a = 0, b = 0, c = 0;
  for (int i = 17; i < 30; ++i) a = after.step(), b = before.step();
  c = whole.step();
  EXPECT_EQ(a, b);  // saving has changed nothing
  EXPECT_EQ(after.step(), c);
  EXPECT_EQ(after.loss_scale().value(), whole.loss_scale().value());
  EXPECT_TRUE(has(message_of([&] { other.restore(folder / "checkpoint", words); }),
                  "its precision is f16, and this run's is f32"));
}

}  // namespace
}  // namespace klab::learning
