// Allocations that fail at places drawn at random: sixty, and in test_shortage_whole.cpp two hundred.
// Nothing crashes, nothing leaks.
// ctest: sanitized-ops slow
#include "tests/radiance/shortage_runs.h"

namespace klab {
namespace {

using shortage::Shortages;

/// Failures that are let happen: 60, or KLAB_FAILURES of the environment.
int64_t wanted_failures() {
  const char* asked = std::getenv("KLAB_FAILURES");
  return asked != nullptr ? std::max(1, std::atoi(asked)) : 60;
}

TEST_F(Shortages, SurvivesFailuresAtRandomPlaces) { fail_at_random_places(wanted_failures(), 7); }

// A batch reduced in the middle of a training continues from the same parameters.
TEST(Shortage, RepeatsAFailedStepWithHalfTheBatch) {
  const Config config = small_config();
  Trainer trainer(small_scene(), config, small_plan("naive"), 3);
  for (int i = 0; i < 3; ++i) trainer.step(0);
  std::vector<std::string> said;
  Shortage shortage([&](const std::string& text) { said.push_back(text); });
  int calls = 0;
  const auto work = [&] {
    if (calls++ == 0) {
      trainer.loss_and_gradient();  // a step that ends half-way leaves gradients
      throw std::bad_alloc();
    }
    return trainer.step(0);
  };
  const StepReport report = shortage.through(trainer, work);
  EXPECT_EQ(report.step, 4);
  EXPECT_EQ(trainer.batch_samples(), config.batch_samples / 2);
  EXPECT_LE(report.samples, TrainStep::sample_capacity(config) / 2 + 128);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("2048 samples instead of 4096"), std::string::npos) << said[0];
  for (int i = 0; i < 60; ++i) trainer.step(0);
  EXPECT_LT(trainer.step(0).loss, report.loss);
  // The batch shrinks as far as possible; then the error is reported.
  EXPECT_THROW(shortage.through(trainer, [&]() -> StepReport { throw std::bad_alloc(); }), OutOfMemory);
  EXPECT_EQ(trainer.batch_samples(), kLeastBatch);
}

}  // namespace
}  // namespace klab
