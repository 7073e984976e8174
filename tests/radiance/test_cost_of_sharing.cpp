// The model of lab 18 against counts by hand, and against the bytes that an exchange sends.
#include <gtest/gtest.h>

#include <cmath>

#include "labs/18_several_processes/train/cost_of_sharing.h"

namespace klab::scaling {
namespace {

using Way = Exchange::Way;

const Link kLink{.latency = 1e-5, .bandwidth = 1e9};

TEST(CostOfSharing, OneRankSharesNothing) {
  for (const Way way : {Way::dense, Way::sharded, Way::touched}) {
    EXPECT_EQ(bytes_sent(way, 1, {.bytes = 1e6}), 0);
    EXPECT_EQ(seconds_to_share(way, 1, {.bytes = 1e6}, kLink), 0);
  }
}

TEST(CostOfSharing, ARingSendsTwiceTheOthersShare) {
  EXPECT_DOUBLE_EQ(bytes_sent(Way::dense, 4, {.bytes = 4e6}), 6e6);
  EXPECT_DOUBLE_EQ(bytes_sent(Way::sharded, 4, {.bytes = 4e6}), 6e6);
  EXPECT_DOUBLE_EQ(seconds_to_reduce(Algorithm::ring, 4, 4e6, kLink), 6 * (1e-5 + 1e-3));
  EXPECT_DOUBLE_EQ(seconds_to_reduce(Algorithm::recursive_doubling, 4, 4e6, kLink), 2 * (1e-5 + 4e-3));
  EXPECT_DOUBLE_EQ(seconds_to_reduce(Algorithm::recursive_doubling, 5, 4e6, kLink), 3 * (1e-5 + 4e-3));
}

TEST(CostOfSharing, ShortArraysGoByFewMessagesAndLongOnesByParts) {
  const Gradient brief{.bytes = 8}, lengthy{.bytes = 1e8};
  EXPECT_EQ(seconds_to_share(Way::dense, 64, brief, kLink),
            seconds_to_reduce(Algorithm::recursive_doubling, 64, 8, kLink));
  EXPECT_EQ(seconds_to_share(Way::dense, 64, lengthy, kLink),
            seconds_to_reduce(Algorithm::ring, 64, 1e8, kLink));
}

TEST(CostOfSharing, TheTouchedShareGrowsWithRanksThatTouchOtherPlaces) {
  const Gradient apart{.bytes = 1, .touched = 0.1, .alike = 0}, same{.bytes = 1, .touched = 0.1, .alike = 1};
  EXPECT_NEAR(apart.touched_by_any(2), 1 - 0.9 * 0.9, 1e-12);
  EXPECT_NEAR(apart.touched_by_any(64), 1 - std::pow(0.9, 64), 1e-12);
  EXPECT_NEAR(same.touched_by_any(64), 0.1, 1e-12);
  EXPECT_EQ((Gradient{.bytes = 1, .touched = 1}).touched_by_any(3), 1);
  // All touched: as sharded, and the bits.
  const Gradient all{.bytes = 5120, .touched = 1, .block = 64};
  EXPECT_DOUBLE_EQ(bytes_sent(Way::touched, 2, all), bytes_sent(Way::sharded, 2, all) + 5120.0 / 64 / 8);
}

TEST(CostOfSharing, AStepHasAFixedAndAShrinkingPart) {
  const Step step{.fixed = 0.01, .grid = 0.004, .optimizer = 0.02, .per_sample = 1e-6};
  const Gradient nothing{.bytes = 0};
  const Link free{.latency = 0, .bandwidth = 1e30};
  EXPECT_DOUBLE_EQ(seconds_of_step(Way::dense, 4, 1000, step, nothing, free), 0.01 + 0.001 + 0.02 + 1e-3);
  EXPECT_DOUBLE_EQ(seconds_of_step(Way::sharded, 4, 1000, step, nothing, free), 0.01 + 0.001 + 0.005 + 1e-3);
}

TEST(CostOfSharing, RecoversALinkFromItsTimes) {
  const auto seconds = [](double bytes) { return kLink.latency + bytes / kLink.bandwidth; };
  const Link found = link_from(8, seconds(8), 1 << 24, seconds(1 << 24));
  EXPECT_NEAR(found.latency, kLink.latency, 1e-12);
  EXPECT_NEAR(found.bandwidth, kLink.bandwidth, 1);
  const Link busy = link_from(8, 2e-3, 1000, 1e-3);
  EXPECT_EQ(busy.latency, 1e-3);
  EXPECT_EQ(busy.bandwidth, 1e6);
  EXPECT_THROW(link_from(8, 0, 1 << 24, 1e-3), std::invalid_argument);
}

}  // namespace
}  // namespace klab::scaling
