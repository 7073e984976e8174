// A pointer chase visits every stop once before it returns, and takes longer where no cache has what it loads.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "labs/learning/experiments/pointer_chase.h"

namespace klab::learning {
namespace {

TEST(PointerChase, VisitsEveryStopOnceInOneCycle) {
  for (const auto order : {PointerChase::Order::ascending, PointerChase::Order::random})
    for (const int64_t stride : {8, 64, 4096}) {
      PointerChase chase({.bytes = 257 * stride, .stride = stride, .order = order, .seed = 3});
      ASSERT_EQ(chase.stops(), 257);
      std::set<int64_t> seen = {0};
      for (int i = 1; i < 257; ++i)
        EXPECT_TRUE(seen.insert(chase.follow(1)).second) << stride << ", load " << i;
      EXPECT_EQ(chase.follow(1), 0) << stride;
    }
}

TEST(PointerChase, AscendsOrDrawsAnOrderBySeed) {
  PointerChase ascending({.bytes = 1 << 16, .order = PointerChase::Order::ascending});
  EXPECT_EQ(ascending.follow(5), 5);
  EXPECT_EQ(ascending.follow(1 << 10), 5) << "a whole cycle ends where it began";
  std::set<int64_t> third;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    PointerChase random({.bytes = 1 << 16, .seed = seed});
    third.insert(random.follow(3));
    PointerChase again({.bytes = 1 << 16, .huge_pages = true, .seed = seed});
    EXPECT_TRUE(third.contains(again.follow(3))) << "pages change nothing about the order";
  }
  EXPECT_GT(third.size(), 1U);
}

TEST(PointerChase, TellsTheShareOfHugePagesAsAShare) {
  for (const bool huge : {false, true}) {
    PointerChase chase({.bytes = 8 << 20, .huge_pages = huge});
    const auto share = chase.huge_share();
    if (!share) continue;  // a system without /proc/self/smaps
    EXPECT_GE(*share, 0);
    EXPECT_LE(*share, huge ? 1 : 0) << "usual pages were asked for";
  }
}

TEST(PointerChase, RefusesWhatIsNoChain) {
  EXPECT_THROW(PointerChase({.bytes = 64}), std::invalid_argument);
  EXPECT_THROW(PointerChase({.bytes = 4096, .stride = 0}), std::invalid_argument);
  EXPECT_THROW(PointerChase({.bytes = 4096, .stride = 60}), std::invalid_argument);
  EXPECT_THROW(PointerChase({.bytes = -4096}), std::invalid_argument);
}

}  // namespace
}  // namespace klab::learning
