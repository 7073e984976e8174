// Memory that stays free, and the smallest and the largest batch of a run.
#include <gtest/gtest.h>
#include <omp.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "labs/radiance/run/pressure.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/shortage.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kMega = 1'000'000;

TEST(BatchLimits, WhatIsReservedIsLeftOutOfTheBudget) {
  const int64_t free = available_memory();
  if (free <= 0) GTEST_SKIP() << "the system does not report free memory";
  EXPECT_EQ(memory_budget(500 * kMega, 0).bytes, 500 * kMega);
  EXPECT_EQ(memory_budget(500 * kMega, 0).whose, "--memory");
  // Other programs may take or give back as much as a quarter meanwhile.
  const int64_t reserve = free / 2;
  const MemoryBudget half = memory_budget({}, 0, reserve);
  EXPECT_NEAR(double(half.bytes), double(free - reserve), 0.25 * double(free));
  EXPECT_EQ(half.whose, "what is free but for --reserve");
  EXPECT_EQ(memory_budget(kMega, 0, reserve).bytes, kMega) << "the smaller of both counts";
  EXPECT_EQ(memory_budget(16 * free, 0, reserve).whose, "what is free but for --reserve");
  try {
    memory_budget({}, 0, 16 * free);
    FAIL() << "more than there is was reserved";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("--reserve "), std::string::npos) << e.what();
  }
}

TEST(BatchLimits, MemoryIsShortWhereLessThanTheReserveIsLeft) {
  int64_t left = 900;  // MB
  Pressure p({.low = 0.05, .high = 0.25, .reserve = 500 * kMega}, [&] {
    return MemoryReading{1000 * kMega, left * kMega, 0};
  });
  for (int i = 0; i < 2 * Pressure::kCalm; ++i)
    EXPECT_EQ(p.measure(), Relief::none) << "less than twice the reserve";
  left = 499;
  EXPECT_EQ(p.measure(), Relief::drop_caches);
  EXPECT_EQ(p.measure(), Relief::shrink);
  left = 1100;
  for (int i = 1; i < Pressure::kCalm; ++i) EXPECT_EQ(p.measure(), Relief::none);
  EXPECT_EQ(p.measure(), Relief::grow);
}

TEST(BatchLimits, AFailedAllocationHalvesTheBatchDownToTheLeast) {
  for (const int64_t least : {kLeastBatch, int64_t{256}}) {
    Trainer trainer(small_scene(), small_config(), small_plan("naive"), 3);
    Shortage shortage([](const std::string&) {}, least);
    try {
      shortage.through(trainer, []() -> StepReport { throw std::bad_alloc(); });
      FAIL() << "no memory at all, and no error";
    } catch (const OutOfMemory& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(least)), std::string::npos) << e.what();
    }
    EXPECT_EQ(trainer.batch_samples(), least);
  }
}

class LimitedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    omp_set_num_threads(1);
    o.scene = "built-in";
    o.downscale = 16;
    o.steps = 70;
    o.plan = "last";
    o.settings.hash = small_config();
    o.settings.hash.batch_samples = 512;
    o.metrics_every = 1e-9;  // each step counts as one that found memory, however long it took
    o.evaluate = false;
    o.json = true;
    o.out = folder;
  }
  void TearDown() override { omp_set_num_threads(threads); }
  /// Returns the message of the error, or an empty text; `result` is that of the run.
  std::string error_of_run() {
    CallTimes times = later_is_faster();
    std::string error;
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    try {
      train(o, times);
    } catch (const std::exception& e) {
      error = e.what();
    }
    said = ::testing::internal::GetCapturedStderr();
    ::testing::internal::GetCapturedStdout();
    if (error.empty()) result = nlohmann::json::parse(read_input(folder / "result.json"));
    return error;
  }

  const int threads = omp_get_max_threads();
  const TempFolder own;
  const fs::path folder = own / "run";
  RunOptions o;
  nlohmann::json result;
  std::string said;
};

TEST_F(LimitedRun, GrowsToTheMostWhileMemoryIsPlentiful) {
  o.pressure = {0, 1e-6};  // what any machine has left
  o.most_batch = 2048;
  ASSERT_EQ(error_of_run(), "");
  EXPECT_EQ(result.at("batch_samples"), 2048) << said;
  EXPECT_EQ(result.at("batches_grown"), 2);
  EXPECT_NE(said.find("a batch of 1024 samples instead of 512"), std::string::npos) << said;
  // No further than the limit of memory allows.
  const int64_t planned = result.at("memory").at("planned");
  o.most_batch = 1 << 24;
  fs::remove_all(folder);
  ASSERT_EQ(error_of_run(), "");
  const int64_t free = result.at("batch_samples");
  o.memory = planned + 8 * kMega;
  fs::remove_all(folder);
  ASSERT_EQ(error_of_run(), "");
  EXPECT_LT(result.at("batch_samples"), free);
  o.memory.reset(), o.most_batch.reset();
  fs::remove_all(folder);
  ASSERT_EQ(error_of_run(), "");
  EXPECT_EQ(result.at("batch_samples"), 512);
}

TEST_F(LimitedRun, RefusesLimitsThatCannotBe) {
  const auto refused = [&](const std::string& words) {
    const std::string error = error_of_run();
    EXPECT_NE(error.find(words), std::string::npos) << error;
    EXPECT_FALSE(fs::exists(folder)) << words;
  };
  o.most_batch = 256;
  refused("--most-batch 256: the batch has 512 samples already");
  o.most_batch = 1024;
  o.pressure = {0, 0};
  refused("--most-batch: the batch grows by the rule of --pressure, which is off");
  o.pressure = {}, o.most_batch.reset();
  o.least_batch = 1024;
  refused("--least-batch 1024: the batch has 512 samples");
  o.settings.field = "voxels";
  refused("--least-batch: only --field hash changes its batch while it trains, and this is voxels");
  o.least_batch.reset();
  o.most_batch = 1 << 20;
  refused("--most-batch: only --field hash");
}

}  // namespace
}  // namespace klab
