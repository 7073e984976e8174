// Batches are the same however many are made ahead, and by however many threads.
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "labs/learning/data/loader.h"

namespace klab::learning {
namespace {

/// Returns the numbers of the batches of some steps, in order, forward and back.
std::vector<float> batches(const Examples& e, bool prefetch, int64_t ahead, int64_t workers) {
  LoaderSettings s{.batch = 8, .seed = 3, .degrees = 10, .scale = 0.1, .shift = 2};
  s.prefetch = prefetch;
  s.ahead = ahead;
  s.workers = workers;
  Loader loader(e, s, 0.1, 0.5);
  std::vector<float> seen;
  for (const int64_t step : {0, 1, 2, 3, 4, 5, 6, 12, 13, 2, 3, 3, 11})
    for (const float v : loader.at(step).values) seen.push_back(v);
  return seen;
}

TEST(Loader, MakesTheSameBatchesWithAnyDepthAndNumberOfWorkers) {
  const Examples e = make_glyphs(50, 4);
  const std::vector<float> plain = batches(e, false, 1, 1);
  for (const auto& [ahead, workers] : {std::pair<int64_t, int64_t>(1, 1), {2, 1}, {3, 2}, {4, 4}, {9, 3}})
    EXPECT_TRUE(batches(e, true, ahead, workers) == plain) << ahead << " ahead by " << workers;
}

TEST(Loader, RefusesMoreWorkersThanBatchesAhead) {
  const Examples e = make_glyphs(50, 4);
  EXPECT_THROW(batches(e, true, 2, 3), std::invalid_argument);
  EXPECT_THROW(batches(e, true, 0, 1), std::invalid_argument);
  EXPECT_THROW(batches(e, true, 1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace klab::learning
