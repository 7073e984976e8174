// The profile of a backend that has its own clock and records lists: times of single calls, though they are
// repeated as one.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/radiance/small_training.h"

namespace klab {
namespace {

/// The processor as a GPU would be: lists are recorded, and on its clock an interval lasts as long as the
/// number of calls since the mark before.
struct Clocked {
  std::shared_ptr<int64_t> calls = std::make_shared<int64_t>(0);
  std::shared_ptr<std::vector<int64_t>> marks = std::make_shared<std::vector<int64_t>>();
  std::shared_ptr<int64_t> longest = std::make_shared<int64_t>(0);  // list, in calls

  Backend backend() const {
    Backend b = cpu_backend();
    b.exact = false;
    b.stage = b.upload;
    const auto recording = std::make_shared<bool>(false);
    const auto tape = std::make_shared<std::vector<std::function<void()>>>();
    const auto later = [recording, tape, calls = calls](std::function<void()> work) {
      if (*recording) return tape->push_back(std::move(work));
      ++*calls;
      work();
    };
    b.bind = [later, bind = b.bind](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
      return [later, work = bind(v, shape, pointers)] { later(work); };
    };
    b.fill = [later, fill = b.fill](void* p, uint8_t byte, size_t bytes) {
      later([=] { fill(p, byte, bytes); });
    };
    b.record = [recording, tape](const std::function<void()>& all) -> std::function<void()> {
      tape->clear();
      *recording = true;
      all();
      *recording = false;
      return [works = *tape] {
        for (const auto& work : works) work();
      };
    };
    b.mark = [recording, marks = marks, calls = calls] {
      if (*recording) throw std::logic_error("a mark would be recorded");
      marks->push_back(*calls);
    };
    b.between_marks = [marks = marks, longest = longest] {
      std::vector<double> seconds;
      for (size_t i = 1; i < marks->size(); ++i) seconds.push_back(double((*marks)[i] - (*marks)[i - 1]));
      *longest = std::max(*longest, int64_t(seconds.size()));
      marks->clear();
      return seconds;
    };
    return b;
  }
};

TEST(EventProfile, ReportsTheBackendsTimeOfEachStage) {
  Config c = small_config();
  c.batch_samples = 256;
  c.first_rays = 16;
  c.grid_every = 1 << 20;  // lists of the loss and of the update only, but for the first step
  c.ema = 0;
  const Clocked clock;
  CallTimes times;
  const Plan plan = Plan::named("naive", training_calls(c, 1), times);
  Trainer trainer(small_scene(), c, plan, 5, clock.backend(), {.passes = {0}, .stretch = 0});
  const int steps = int(RunOps::kTimedEvery + 1);
  for (int i = 0; i < steps; ++i) trainer.step(0);
  // Every call of every list takes a second by that clock, whether it was repeated or not.
  const auto& seconds = trainer.profile().seconds();
  ASSERT_TRUE(seconds.contains("mlp_bwd color"));
  constexpr double host = 1e-2;  // the host clock's extra time for calls that it does not make
  EXPECT_NEAR(seconds.at("mlp_bwd color"), steps, host);
  EXPECT_NEAR(seconds.at("adam"), 3 * steps, host);
  EXPECT_EQ(seconds.at("clear gradients"), 3 * steps);
  EXPECT_FALSE(seconds.contains("recorded lists"));
  const auto& calls = trainer.profile().calls();
  const Cost one = find_op("mlp_bwd")->op.cost(calls.at("mlp_bwd color").shape);
  EXPECT_NEAR(calls.at("mlp_bwd color").cost.flops, steps * one.flops, 1e-6 * steps * one.flops);
  EXPECT_GT(*clock.longest, 20);
  EXPECT_TRUE(clock.marks->empty());
  EXPECT_GT(trainer.host_counts().repeated, 2 * (steps - 8));
}

/// A program that samples a few steps, as the ladder of plans does, would miss the one of many that is timed.
TEST(EventProfile, SamplesAtTheRequestedInterval) {
  Config c = small_config();
  c.batch_samples = 256;
  c.first_rays = 16;
  c.grid_every = 1 << 20;
  c.ema = 0;
  const Clocked clock;
  CallTimes times;
  const Plan plan = Plan::named("naive", training_calls(c, 1), times);
  Trainer trainer(small_scene(), c, plan, 5, clock.backend(), {.passes = {0}, .stretch = 0});
  trainer.step(0);
  trainer.profile().clear();
  for (int i = 0; i < 16; ++i) trainer.step(0);
  EXPECT_FALSE(trainer.profile().seconds().contains("mlp_bwd color"));
  trainer.time_every(8);
  for (int i = 0; i < 8; ++i) trainer.step(0);
  EXPECT_GE(trainer.profile().seconds().at("mlp_bwd color"), 8);
}

/// The clock does not change the results.
TEST(EventProfile, DoesNotChangeLosses) {
  Config c = small_config();
  c.batch_samples = 256;
  c.first_rays = 16;
  CallTimes times;
  const Plan plan = Plan::named("naive", training_calls(c, 1), times);
  const Clocked clock;
  Backend plain = clock.backend();
  plain.mark = nullptr;
  plain.between_marks = nullptr;
  Trainer with(small_scene(), c, plan, 5, clock.backend(), {.passes = {0}, .stretch = 0}),
      without(small_scene(), c, plan, 5, plain, {.passes = {0}, .stretch = 0});
  for (int i = 0; i < 70; ++i) ASSERT_EQ(with.step(0).loss, without.step(0).loss) << "step " << i;
}

}  // namespace
}  // namespace klab
