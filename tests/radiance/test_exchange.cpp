// The exchange of gradients between ranks: three ways, with threads in the place of processes. Between
// processes: test_ranks.sh.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "labs/radiance/ranks/exchange.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"
#include "tests/radiance/thread_carrier.h"

namespace klab {
namespace {

using ExchangeWay = Exchange::Way;

/// A gradient a rank, of which each touches a share of the blocks; and a learning rate that makes sums visible in parameters.
struct Case {
  int ranks;
  int64_t n, group;
  double touched;
  std::vector<std::vector<float>> gradients;
  std::vector<float> parameters;

  Case(int r, int64_t count, int64_t g, double share) : ranks(r), n(count), group(g), touched(share) {
    std::mt19937_64 random(uint64_t(r * 1000 + count));
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<double> unit(0, 1);
    for (int k = 0; k < ranks; ++k) {
      std::vector<float> gradient(static_cast<size_t>(n), 0.0F);
      for (int64_t i = 0; i < n; i += group)
        if (unit(random) < touched)
          for (int64_t j = i; j < std::min(n, i + group); ++j) gradient[size_t(j)] = normal(random);
      gradients.push_back(std::move(gradient));
    }
    for (int64_t i = 0; i < n; ++i) parameters.push_back(normal(random));
  }

  /// In the order of the ranks, as one process adds up the parts of its batch.
  std::vector<float> sum() const {
    std::vector<float> sums(static_cast<size_t>(n), 0.0F);
    for (const auto& gradient : gradients)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += gradient[i];
    return sums;
  }
};

/// Returns the parameters of each rank after one step of plain descent, and the bytes of each in `sent`.
std::vector<std::vector<float>> step(const Case& c, ExchangeWay way, std::vector<int64_t>& sent) {
  CarrierThreads threads(c.ranks);
  std::vector<std::vector<float>> after(size_t(c.ranks), c.parameters);
  {
    std::vector<std::jthread> all;
    for (int r = 0; r < c.ranks; ++r)
      all.emplace_back([&, r] {
        Exchange exchange(way, threads.carrier(r), c.group);
        std::vector<float> gradient = c.gradients[size_t(r)];
        exchange.reduce(gradient);
        std::vector<float>& mine = after[size_t(r)];
        for (size_t i = 0; i < mine.size(); ++i) mine[i] -= 0.5F * gradient[i];
        exchange.complete(mine);
      });
  }
  sent = threads.sent;
  return after;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    for (const int ranks : {2, 3, 5})
      for (const int64_t n : {int64_t(0), int64_t(2), int64_t(30), int64_t(1000), int64_t(4098)})
        for (const double touched : {0.0, 0.05, 1.0}) list.emplace_back(ranks, n, 2, touched);
    list.emplace_back(4, 999, 3, 0.3);  // a block of whole groups is shorter than a line
    return list;
  }();
  return all;
}

TEST(Exchange, EveryWayTakesTheStepOfTheSumInRankOrder) {
  for (const Case& c : cases())
    for (const ExchangeWay way : {ExchangeWay::dense, ExchangeWay::sharded, ExchangeWay::touched}) {
      std::vector<float> expected = c.parameters;
      const std::vector<float> sums = c.sum();
      for (size_t i = 0; i < expected.size(); ++i) expected[i] -= 0.5F * sums[i];
      std::vector<int64_t> sent;
      const auto after = step(c, way, sent);
      for (int r = 0; r < c.ranks; ++r)
        ASSERT_EQ(after[size_t(r)], expected)
            << c.ranks << " ranks, " << c.n << " entries, rank " << r << ", way " << int(way);
    }
}

TEST(Exchange, BytesMatchTheCountOfTheOp) {
  const std::pair<ExchangeWay, const char*> ways[] = {
      {ExchangeWay::sharded, "allreduce_gradients.cpu.03_sharded"},
      {ExchangeWay::dense, "allreduce_gradients.cpu.02_all_reduce"},
      {ExchangeWay::touched, "allreduce_gradients.cpu.05_touched"}};
  int compared = 0;
  for (const Case& c : cases()) {
    if (c.n % (16 * c.ranks) != 0 && c.n < 1000) continue;
    std::vector<float> gradients, replicas;
    for (int r = 0; r < c.ranks; ++r) {
      gradients.insert(gradients.end(), c.gradients[size_t(r)].begin(), c.gradients[size_t(r)].end());
      replicas.insert(replicas.end(), c.parameters.begin(), c.parameters.end());
    }
    for (const auto& [way, id] : ways) {
      std::vector<int64_t> sent, counted(size_t(c.ranks), 0);
      step(c, way, sent);
      const float rate = 1;
      const int64_t block = Exchange(way, {}, c.group).block();
      std::vector<float> param = replicas;
      call<AllreduceGradients>(*find_variant(id), {.shape = {c.ranks, c.n, block, 0},
                                                   .rate = &rate,
                                                   .gradient = gradients.data(),
                                                   .param = param.data(),
                                                   .sent = counted.data()});
      for (int r = 0; r < c.ranks; ++r) {
        // A library's ring is counted as if all parts were alike; the op counts the parts as they are.
        const double slack = way == ExchangeWay::dense ? 8.0 * double(block) * c.ranks : 0;
        EXPECT_NEAR(double(sent[size_t(r)]), double(counted[size_t(r)]), slack)
            << id << ", " << c.ranks << " ranks, " << c.n << " entries, touched " << c.touched << ", rank "
            << r;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 10);
}

TEST(Exchange, UntouchedBlocksCostOnlyBits) {
  const Case sparse(4, 1 << 14, 2, 0.001), full(4, 1 << 14, 2, 1.0);
  std::vector<int64_t> few, many, dense;
  step(sparse, ExchangeWay::touched, few);
  step(full, ExchangeWay::touched, many);
  step(full, ExchangeWay::sharded, dense);
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_LT(few[r], dense[r] / 20);
    EXPECT_GE(many[r], dense[r]);
    EXPECT_LT(double(many[r]), 1.02 * double(dense[r])) << "a bit for 16 floats";
  }
}

TEST(Exchange, GathersMomentsAtTheFirstRank) {
  for (const int ranks : {2, 3}) {
    constexpr int64_t kGroup = 2, kCount = 1002;
    CarrierThreads threads(ranks);
    std::vector<std::vector<int32_t>> steps(size_t(ranks), std::vector<int32_t>(kCount / kGroup, -1));
    std::vector<std::vector<float>> m(size_t(ranks), std::vector<float>(kCount, -1.0F));
    std::vector<std::jthread> all;
    for (int r = 0; r < ranks; ++r)
      all.emplace_back([&, r] {
        Exchange exchange(ExchangeWay::sharded, threads.carrier(r), kGroup);
        // A rank updates the part whose gradient it receives.
        std::vector<float> gradient(kCount, 1.0F);
        exchange.reduce(gradient);
        for (int64_t i = 0; i < kCount; ++i)
          if (gradient[size_t(i)] != 0) {
            m[size_t(r)][size_t(i)] = float(i);
            steps[size_t(r)][size_t(i / kGroup)] = int32_t(i / kGroup);
          }
        exchange.collect(m[size_t(r)].data(), sizeof(float), 1, kCount);
        exchange.collect(steps[size_t(r)].data(), sizeof(int32_t), kGroup, kCount);
      });
    all.clear();
    for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(m[0][size_t(i)], float(i));
    for (int64_t i = 0; i < kCount / kGroup; ++i) ASSERT_EQ(steps[0][size_t(i)], i);
  }
}

TEST(Exchange, WaysHaveNames) {
  EXPECT_EQ(Exchange::way_named("touched"), ExchangeWay::touched);
  EXPECT_THROW(Exchange::way_named("ring"), std::invalid_argument);
}

}  // namespace
}  // namespace klab
