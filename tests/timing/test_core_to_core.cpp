// How far apart threads are.
#include <gtest/gtest.h>
#include <omp.h>

#include <string>
#include <vector>

#include "harness/timing/core_to_core.h"

namespace klab {
namespace {

class CoreToCore : public testing::Test {
 protected:
  ~CoreToCore() override { omp_set_num_threads(before_); }

 private:
  int before_ = omp_get_max_threads();
};

TEST_F(CoreToCore, TakesTimeBetweenTwoThreadsAndNoneForOne) {
  omp_set_num_threads(1);
  EXPECT_EQ(measure_core_to_core_ns(), 0);
  if (omp_get_num_procs() < 2) GTEST_SKIP() << "needs two processors";
  omp_set_num_threads(2);
  double ns = 0;  // 0 while another program has one of the processors
  for (int attempt = 0; attempt < 50 && !(ns > 0); ++attempt) ns = measure_core_to_core_ns();
  if (!(ns > 0)) GTEST_SKIP() << "other programs kept a processor all the time";
  EXPECT_GT(ns, 5) << "two loads and two stores of one line cannot be faster";
  EXPECT_LT(ns, 100'000);
}

TEST_F(CoreToCore, EndsWithMoreThreadsThanCores) {
  omp_set_num_threads(3 * omp_get_num_procs());
  EXPECT_GE(measure_core_to_core_ns(), 0);
}

TEST(MovedText, ReportsOnlyPartlySharedCaches) {
  EXPECT_EQ(moved_text({}), "");
  const std::vector<double> together = {80, 95, 130, 0, 180}, apart = {390, 410, 0, 700}, none = {0, 0},
                            scatter = {150, 210};
  for (const auto& ns : {together, apart, none, scatter}) EXPECT_EQ(moved_text(ns), "");
  const std::vector<double> both = {0, 395.4, 83, 90};
  EXPECT_NE(moved_text(both).find("83 to 395 ns"), std::string::npos) << moved_text(both);
}

}  // namespace
}  // namespace klab
