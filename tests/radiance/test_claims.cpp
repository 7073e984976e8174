// The experiments on radiance fields: they run, and their certain claims are decided.
//
// ctest: slow
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "labs/learning/experiments/experiment.h"

namespace klab::learning {
namespace {

/// The outcome of an experiment, each claim with numbers and each row whole; and the verdict on the claim
/// that contains given words.
class Claims {
 public:
  explicit Claims(const std::string& name) {
    const auto& all = experiments();
    const auto at = std::ranges::find(all, name, &Experiment::name);
    if (at == all.end()) throw std::logic_error("no experiment " + name);
    out = at->run(1);
    for (const Decided& d : out.decided) {
      EXPECT_TRUE(std::ranges::any_of(d.because, [](char c) { return c >= '0' && c <= '9'; })) << d.because;
      EXPECT_NE(std::ranges::find(at->claims, d.id, &Claim::id), at->claims.end())
          << d.said << " is not declared";
    }
    EXPECT_EQ(out.decided.size(), at->claims.size()) << name << " does not decide all that it declares";
    for (const auto& row : out.rows) EXPECT_EQ(row.size(), out.heads.size());
    for (const Curve& c : out.curves)
      for (const auto& [x, y] : c.points) EXPECT_TRUE(std::isfinite(y) && x > 0) << c.name;
  }
  Finding finding(const std::string& words) const {
    const auto d = std::ranges::find_if(
        out.decided, [&](const Decided& x) { return x.said.find(words) != std::string::npos; });
    EXPECT_NE(d, out.decided.end()) << words;
    return d == out.decided.end() ? Finding::depends : d->finding;
  }
  Outcome out;
};

TEST(HashTableClaims, CertainClaimsAreDecided) {
  const Claims claims("hash_table");
  EXPECT_EQ(claims.finding("end at 2048"), Finding::refuted) << "arithmetic";
  EXPECT_EQ(claims.finding("too small loses detail"), Finding::held);
}

TEST(SamplingClaims, CertainClaimsAreDecided) {
  const Claims claims("sampling");
  EXPECT_NE(claims.finding("occupancy grid"), Finding::refuted) << "most of the box is air";
  claims.finding("by their error");
  claims.finding("stratified");
}

TEST(RenderingClaims, CertainClaimsAreDecided) {
  const Claims claims("rendering");
  EXPECT_EQ(claims.finding("fixed number of samples"), Finding::refuted)
      << "the grid of cells learns what is empty";
  EXPECT_EQ(claims.finding("less memory"), Finding::held) << "there are no gradients and moments";
}

TEST(HotEntryClaims, DecideOneClaim) { EXPECT_EQ(Claims("hot_entries").out.decided.size(), 1U); }

TEST(MemoryErrorClaims, AManagerTrainsWhereverTheWholeFitsAndInMoreBudgets) {
  const Claims claims("memory_errors");
  EXPECT_EQ(claims.finding("fewer out-of-memory errors"), Finding::held);
  ASSERT_EQ(claims.out.rows.size(), 20U);
  EXPECT_EQ(claims.out.rows.back()[2], "trains");
  for (const auto& row : claims.out.rows)
    EXPECT_TRUE(row[2] == "too little" || row[3] == "trains") << row[0] << " is enough for the whole";
}

TEST(TableGrowthClaims, ATableThatGrowsHasMoreEntriesAtEachStepShown) {
  const Claims claims("table_growth");
  claims.finding("converges faster");
  ASSERT_EQ(claims.out.rows.size(), 8U);
  const auto entries = [&](size_t row) { return std::stoll(claims.out.rows[row][2]); };
  for (size_t row = 1; row < 4; ++row) EXPECT_EQ(entries(row), entries(0)) << "the fixed table changed";
  for (size_t row = 5; row < 8; ++row) EXPECT_GE(entries(row), entries(row - 1));
  EXPECT_LT(entries(4), entries(0)) << "it does not start small";
}

TEST(ProgressiveClaims, DecideByPicturesLevelsAndEntries) {
  const Claims claims("progressive");
  for (const char* words : {"small pictures first", "levels of the table that learn in turn", "below 0.001",
                            "gradients are largest"})
    claims.finding(words);
  ASSERT_EQ(claims.out.rows.size(), 8U);
}

TEST(CompositingClaims, RungsAgree) {
  const Claims claims("compositing");
  for (const auto& row : claims.out.rows) EXPECT_LT(std::stod(row.back()), 1e-3) << row.front();
  EXPECT_EQ(claims.finding("staged in shared memory"), Finding::held)
      << "whole lines in place of a sector a lane";
  EXPECT_EQ(claims.finding("cost nothing visible"), Finding::held);
}

}  // namespace
}  // namespace klab::learning
