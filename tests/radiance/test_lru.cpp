// A cache in numbers: hit shares against a cache that is played through, and worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "labs/radiance/run/lru.h"

namespace klab {
namespace {

TEST(Lru, MatchesAWorkedExample) {
  // a b c a: between the two a's lie two others, so two places are too few and three are enough.
  const std::vector<uint32_t> lines = {1, 2, 3, 1};
  const std::vector<int64_t> places = {1, 2, 3};
  EXPECT_EQ(lru_hit_shares(lines, places), (std::vector<double>{0, 0, 0.25}));
  EXPECT_EQ(lru_hit_shares(std::vector<uint32_t>{7, 7, 7, 7}, places),
            (std::vector<double>{0.75, 0.75, 0.75}));
  EXPECT_EQ(lru_hit_shares({}, places), (std::vector<double>{0, 0, 0}));
}

TEST(Lru, MatchesASimulatedCache) {
  std::mt19937 g(3);
  std::vector<uint32_t> lines;
  for (int i = 0; i < 5000; ++i) lines.push_back(uint32_t(g() % 3 ? g() % 20 : g() % 400));
  const std::vector<int64_t> places = {1, 4, 16, 64, 1000};
  const std::vector<double> shares = lru_hit_shares(lines, places);
  for (size_t c = 0; c < places.size(); ++c) {
    std::vector<uint32_t> cache;  // used last in front
    int hits = 0;
    for (const uint32_t line : lines) {
      const auto at = std::ranges::find(cache, line);
      hits += at != cache.end();
      if (at != cache.end()) cache.erase(at);
      cache.insert(cache.begin(), line);
      if (int64_t(cache.size()) > places[c]) cache.pop_back();
    }
    EXPECT_EQ(shares[c], double(hits) / double(lines.size())) << places[c];
  }
}

TEST(CacheCounts, CountOrGiveAReason) {
  std::vector<int> numbers(1 << 20, 1);
  volatile int sum = 0;
  const CacheCounts counts = count_cache([&] {
    for (const int n : numbers) sum = sum + n;
  });
  EXPECT_EQ(sum, 1 << 20) << "the work is done once";
  if (counts.refused.empty())
    EXPECT_GT(counts.loads, 1 << 20);
  else
    EXPECT_EQ(counts.loads, 0) << counts.refused;
}

}  // namespace
}  // namespace klab
