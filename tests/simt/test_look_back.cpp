// Blocks that pass sums to each other (kernels/common/look_back.h, last_block.h): what a block finds, and what the
// executor reports where tickets or a fence are missing.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "harness/simt/session.h"
#include "tests/simt/counted_module.h"

namespace klab {
namespace {

bool has(simt::Session& session, simt::Kind kind) {
  const auto& all = session.findings();
  return std::ranges::any_of(all, [&](const simt::Finding& f) { return f.kind == kind; });
}

// On a GPU a block finds earlier tiles in any state; on the executor they have always ended.
TEST(LookBack, AddsOwnSumsBackToTheNearestWholeSum) {
  const auto look = of_module<unsigned (*)(unsigned, unsigned, unsigned long long*)>("look_back_from");
  ASSERT_TRUE(look) << dlerror();
  constexpr unsigned long long kOwn = 1ULL << 32, kWhole = 2ULL << 32;
  std::mt19937 random(5);
  for (const unsigned tile : {1U, 2U, 31U, 32U, 33U, 64U, 65U, 130U})
    for (const unsigned distance : {1U, 2U, 31U, 32U, 33U, 100U}) {
      std::vector<unsigned long long> words(tile + 1);
      unsigned whole = 0;
      for (unsigned t = 0; t < tile; ++t) {
        const unsigned own = random() % 1000;
        whole += own;
        const bool knows_all = t == 0 || t + distance == tile || (t + distance < tile && random() % 4 == 0);
        words[t] = knows_all ? kWhole | whole : kOwn | own;
      }
      simt::Session session({.traced = true});
      EXPECT_EQ(look(tile, 7, words.data()), whole) << tile << " tiles, whole " << distance << " before";
      EXPECT_EQ(words[tile], kWhole | (whole + 7));
      EXPECT_TRUE(session.findings().empty());
    }
}

TEST(LookBack, CountsSideBySideHaveWholeSumsOfTheirOwn) {
  const auto look = of_module<void (*)(int, unsigned, unsigned*, unsigned*)>("look_back_counts");
  ASSERT_TRUE(look) << dlerror();
  constexpr unsigned kOwn = 1U << 30, kWhole = 2U << 30, kColumns = 32;
  std::mt19937 random(6);
  for (const unsigned tile : {0U, 1U, 3U, 4U, 5U, 9U, 40U}) {
    std::vector<unsigned> words((tile + 1) * kColumns), sums(kColumns), before(kColumns);
    for (unsigned t = 0; t < tile; ++t)
      for (unsigned c = 0; c < kColumns; ++c) {
        const unsigned own = random() % 1000;
        sums[c] += own;
        words[t * kColumns + c] = t == 0 || random() % (c + 1) == 0 ? kWhole | sums[c] : kOwn | own;
      }
    simt::Session session({.traced = true});
    look(int(tile), 7, words.data(), before.data());
    EXPECT_EQ(before, sums) << tile << " tiles";
    for (unsigned c = 0; c < kColumns; ++c) EXPECT_EQ(words[tile * kColumns + c], kWhole | (sums[c] + 7));
    EXPECT_TRUE(session.findings().empty());
  }
}

TEST(LookBack, TilesByTicketAddUpInAnyOrderOfBlocks) {
  const auto over = of_module<void (*)(unsigned, bool, unsigned*)>("look_back_over");
  ASSERT_TRUE(over) << dlerror();
  std::vector<unsigned> before(70);
  for (const uint64_t seed : {1, 2, 3}) {
    simt::Session session({.traced = true, .seed = seed});
    over(70, true, before.data());
    EXPECT_TRUE(session.findings().empty());
    for (unsigned t = 0; t < 70; ++t) EXPECT_EQ(before[t], t * (t + 1) / 2);
  }
}

TEST(LookBack, TilesByBlockNumberWaitForever) {
  const auto over = of_module<void (*)(unsigned, bool, unsigned*)>("look_back_over");
  ASSERT_TRUE(over) << dlerror();
  std::vector<unsigned> before(70);
  simt::Session session({.traced = true, .seed = 1});
  EXPECT_ANY_THROW(over(70, false, before.data()));
  EXPECT_TRUE(has(session, simt::Kind::never_ends));
}

TEST(LookBack, SumsStopBehindTheCapacity) {
  const auto add = of_module<unsigned (*)(unsigned, unsigned, unsigned)>("add_up_to");
  ASSERT_TRUE(add) << dlerror();
  EXPECT_EQ(add(10, 4, 6), 10U);
  EXPECT_EQ(add(10, 4, 7), 11U);
  EXPECT_EQ(add(10, 11, 11), 11U);
  constexpr unsigned kMost = (1U << 31) - 1;
  EXPECT_EQ(add(kMost, kMost, 1), kMost + 1);
  EXPECT_EQ(add(kMost, kMost + 1, kMost + 1), kMost + 1);
  EXPECT_EQ(add(kMost, 1U << 30, (1U << 30) - 1), kMost);
}

TEST(LastBlock, SeesWhatAllBlocksWrote) {
  const auto sum = of_module<unsigned (*)(bool)>("sum_by_last_block");
  ASSERT_TRUE(sum) << dlerror();
  for (const uint64_t seed : {1, 2, 3}) {
    simt::Session session({.traced = true, .seed = seed});
    EXPECT_EQ(sum(true), 64U * 21 + 7U * 2016);
    EXPECT_TRUE(session.findings().empty());
  }
}

TEST(LastBlock, IsARaceWithoutItsFence) {
  const auto sum = of_module<unsigned (*)(bool)>("sum_by_last_block");
  ASSERT_TRUE(sum) << dlerror();
  simt::Session session({.traced = true, .seed = 1});
  sum(false);
  EXPECT_TRUE(has(session, simt::Kind::global_race));
}

}  // namespace
}  // namespace klab
