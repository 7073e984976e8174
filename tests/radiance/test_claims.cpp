// The experiment on the hash table: that it runs, and that what must come out does.
//
// ctest: slow
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "labs/learning/experiments/experiment.h"

namespace klab::learning {
namespace {

TEST(HashTableClaims, WhatMustComeOutDoes) {
  const auto& all = experiments();
  const auto at = std::ranges::find(all, "hash_table", &Experiment::name);
  ASSERT_NE(at, all.end());
  const Outcome out = at->run(1);
  const auto finding = [&](const std::string& words) {
    const auto d = std::ranges::find_if(
        out.decided, [&](const Decided& x) { return x.said.find(words) != std::string::npos; });
    EXPECT_NE(d, out.decided.end()) << words;
    return d == out.decided.end() ? Finding::depends : d->finding;
  };
  EXPECT_EQ(finding("end at 2048"), Finding::refuted) << "arithmetic";
  EXPECT_EQ(finding("too small loses detail"), Finding::held);
  EXPECT_EQ(out.decided.size(), 6U);
  for (const Decided& d : out.decided)
    EXPECT_TRUE(std::ranges::any_of(d.because, [](char c) { return c >= '0' && c <= '9'; })) << d.because;
  for (const auto& row : out.rows) EXPECT_EQ(row.size(), out.heads.size());
  for (const Curve& c : out.curves)
    for (const auto& [x, y] : c.points) EXPECT_TRUE(std::isfinite(y) && x > 0) << c.name;
}

}  // namespace
}  // namespace klab::learning
