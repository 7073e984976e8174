// The quick experiments: that they run, and that what must come out does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "labs/learning/experiments/experiment.h"

namespace klab::learning {
namespace {

/// Times of rungs are not the user's here.
class Experiments : public ::testing::Test {
 protected:
  Experiments()
      : cache(std::filesystem::temp_directory_path() / ("klab_experiments_" + std::to_string(::getpid()))) {
    ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  }
  ~Experiments() override { std::filesystem::remove_all(cache); }
  static Outcome run(const std::string& name) {
    const auto& all = experiments();
    const auto at = std::ranges::find(all, name, &Experiment::name);
    EXPECT_NE(at, all.end()) << name;
    Outcome o = at->run(1);
    EXPECT_FALSE(o.because.empty()) << name;
    for (const auto& row : o.rows) EXPECT_EQ(row.size(), o.heads.size()) << name;
    return o;
  }
  std::filesystem::path cache;
};

TEST_F(Experiments, AreNamedOnceAndInOrder) {
  const auto& all = experiments();
  EXPECT_GE(all.size(), 7U);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
}

TEST_F(Experiments, InitializationSeparatesThreeVariances) {
  const Outcome o = run("initialization");
  // The claim contradicts itself: activations explode, and gradients with them.
  EXPECT_EQ(o.finding, Finding::depends) << o.because;
  ASSERT_EQ(o.curves.size(), 3U);
  const auto last = [&](size_t k) { return o.curves[k].points.back().second; };
  EXPECT_LT(last(0), 1e-2);
  EXPECT_GT(last(2), 1e3);
  EXPECT_LT(std::abs(std::log10(last(1))), 1);
}

TEST_F(Experiments, QuadraticKnowsItsAnswer) {
  const Outcome o = run("quadratic");
  ASSERT_EQ(o.curves.size(), 4U);
  // One step of uncorrected momentum is a tenth of the corrected one.
  const double start = o.curves[1].points[0].second;
  EXPECT_LT(o.curves[0].points.back().second, start);
  EXPECT_LT(std::abs(start - o.curves[1].points[1].second), std::abs(start - o.curves[2].points[1].second));
  EXPECT_NE(o.finding, Finding::refuted) << o.because;
}

TEST_F(Experiments, DropoutAndAccumulationFollowTheirFormulas) {
  EXPECT_EQ(run("dropout").finding, Finding::held);
  EXPECT_EQ(run("accumulation").finding, Finding::depends);  // batch normalization is the exception
}

}  // namespace
}  // namespace klab::learning
