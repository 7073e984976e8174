// The account of memory of Gaussians: what a run plans, and what its trainer takes.
#include <gtest/gtest.h>
#include <omp.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/program/counted_bytes.h"
#include "harness/program/memory.h"
#include "harness/records/input.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/splat/gaussian_field.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

OwnedBytes owned_by(const char* owner) { return memory_by_owner()[owner]; }

TEST(CountedBytes, CountForTheOwnerAtTheirBeginUntilTheirEnd) {
  const auto count = [] {
    const MemoryOwner owner("containers of a test");
    return std::make_unique<CountedBytes>();
  };
  auto a = count(), b = count();
  a->set(1000);
  b->set(300);
  a->set(200);
  EXPECT_EQ(owned_by("containers of a test").now, 500);
  EXPECT_EQ(owned_by("containers of a test").peak, 1300);
  a.reset();
  EXPECT_EQ(owned_by("containers of a test").now, 300);
  EXPECT_EQ(reserved_bytes(std::vector<float>(10), std::vector<uint8_t>(3)), 43);
}

/// Trains Gaussians until there are as many as there may be, and counts them as an owner of their own.
OwnedBytes bytes_of_training(const GaussianConfig& config, int steps, int64_t& gaussians) {
  static CallTimes times = later_is_faster();
  const Plan plan = Plan::named("last", gaussian_calls(config), times);
  forget_memory_peaks();
  const MemoryOwner owner("gaussians of a test");
  GaussianTrainer trainer(small_scene(), config, plan, 3);
  for (int i = 0; i < steps; ++i) gaussians = trainer.step(0.49).samples;
  return owned_by("gaussians of a test");
}

TEST(GaussianMemory, IsCountedAndStaysBelowThePlan) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  GaussianConfig config;
  config.initial = 1500, config.most = 1600, config.budget = 1600, config.sh_degree = 2;
  int64_t gaussians = 0;
  const OwnedBytes few = bytes_of_training(config, 3, gaussians);
  EXPECT_EQ(gaussians, 1500);
  const int64_t each = GaussianSet::zeros(1, 2).bytes();
  EXPECT_GE(few.now, 5 * each * 1500) << "parameters, gradients, and three numbers of Adam's";
  const OwnedBytes grown = bytes_of_training(config, 301, gaussians);
  ASSERT_NE(gaussians, 1500) << "the set has not changed";
  EXPECT_GE(grown.now, 5 * each * gaussians);
  EXPECT_GE(grown.peak, each * (5 * 1500 + gaussians)) << "the old set is there until the new one is made";
  const int64_t planned = gaussian_bytes(config, small_scene());
  EXPECT_LE(grown.peak, planned);
  EXPECT_GE(double(grown.peak), 0.5 * double(planned)) << "the plan says little of what is taken";
  EXPECT_EQ(owned_by("gaussians of a test").now, 0) << "given back with the trainer";
  omp_set_num_threads(threads);
}

TEST(GaussianMemory, StandsInTheResultOfARun) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const TempFolder own;
  const fs::path folder = own / "run";
  RunOptions options;
  options.scene = "built-in";
  options.downscale = 16;
  options.steps = 4;
  options.plan = "last";
  options.settings.field = "gaussians";
  options.settings.gaussians.initial = 900, options.settings.gaussians.most = 1000;
  options.out = folder;
  options.evaluate = false;
  CallTimes times = later_is_faster();
  forget_memory_peaks();
  ::testing::internal::CaptureStdout();
  const int code = train(options, times);
  const std::string said = ::testing::internal::GetCapturedStdout();
  ASSERT_EQ(code, 0) << said;
  const auto owners = nlohmann::json::parse(read_input(folder / "result.json")).at("memory").at("owners");
  const auto trainer = owners.at("trainer"), pictures = owners.at("pictures");
  EXPECT_GT(pictures.at("peak"), 0);
  EXPECT_LE(pictures.at("peak"), pictures.at("planned"));
  const int64_t peak = trainer.at("peak"), planned = trainer.at("planned");
  EXPECT_LE(peak, planned);
  EXPECT_GE(double(peak), 0.4 * double(planned));
  omp_set_num_threads(threads);
}

}  // namespace
}  // namespace klab
