// A recording of claims continues where it was interrupted, and notices claims that are measured in another way now.
#include <gtest/gtest.h>

#include <cmath>

#include "labs/learning/experiments/recording.h"

namespace klab::learning {
namespace {

const Claim kCoin{
    .id = "coin.heads", .said = "heads", .source = "post", .metric = "side", .rule = at_least(1)};
const Claim kSides{.id = "coin.sides",
                   .said = "a coin has two sides",
                   .source = "post",
                   .metric = "sides",
                   .rule = between(2, 2),
                   .kind = ClaimKind::exact};

Outcome flip(uint64_t seed) {
  Outcome out;
  out.decided = {decide(kCoin, double(seed % 2), "0 or 1"), decide(kSides, 2, "2")};
  return out;
}

TEST(Recording, ContinueAfterAnInterruption) {
  const Experiment coin{"coin", "a coin", flip, nullptr, {kCoin, kSides}};
  ClaimRecord record{"machine", "processor", {}};
  const RunNote note{.machine = "machine", .commit = "abc", .date = "2026-01-02", .seconds = 1};
  add_run(record, {&coin, 1, {"coin.heads", "coin.sides"}}, flip(1), note);
  EXPECT_TRUE(record.find("coin.sides")->complete());
  EXPECT_FALSE(record.find("coin.heads")->complete());
  add_run(record, {&coin, 2, {"coin.heads"}}, flip(2), note);
  add_run(record, {&coin, 3, {"coin.heads"}}, flip(3), note);
  const ClaimEntry& e = *record.find("coin.heads");
  EXPECT_EQ(e.rows, (std::vector<ClaimRow>{{"", {1, 0, 1}}}));
  EXPECT_EQ(e.seeds, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(e.seconds, 3);
  EXPECT_EQ(e.verdict(), ClaimVerdict::depends);
  EXPECT_EQ(record.find("coin.sides")->seeds, std::vector<uint64_t>{1});
}

TEST(Recording, RefuseOtherConditionsThanBefore) {
  const Experiment coin{"coin", "a coin", flip, nullptr, {kCoin, kSides}};
  ClaimRecord record{"machine", "processor", {}};
  add_run(record, {&coin, 1, {"coin.heads"}}, flip(1), {});
  Outcome other = flip(2);
  other.decided[0].rows = {{"thrown", {1}}};
  EXPECT_THROW(add_run(record, {&coin, 2, {"coin.heads"}}, other, {}), std::runtime_error);
  other.decided.clear();
  EXPECT_THROW(add_run(record, {&coin, 2, {"coin.heads"}}, other, {}), std::runtime_error);
}

TEST(Recording, DecideNothingByAnotherRuleOrEdition) {
  const Claim claim = experiments_named({"quadratic"}).front()->claims.front();
  ClaimEntry e{.claim = claim, .rows = {{"", {0}}}, .because = ""};
  e.seeds = {1};
  EXPECT_EQ(why_no_verdict(claim, &e), "");
  EXPECT_EQ(why_no_verdict(claim, nullptr), "not yet recorded");
  e.edition = 7;
  EXPECT_NE(why_no_verdict(claim, &e).find("edition 7"), std::string::npos);
  e.edition = 1;
  e.claim.rule = at_least(2);
  EXPECT_NE(why_no_verdict(claim, &e).find("another rule: at least 2"), std::string::npos);
  e.claim = claim;
  e.claim.metric = "something else";
  EXPECT_NE(why_no_verdict(claim, &e).find("another metric"), std::string::npos);
  // Such an entry is measured again.
  ClaimRecord record{"machine", "processor", {}};
  record.set(e);
  EXPECT_EQ(missing_pieces({claim}, record).size(), 1U);
  e.claim = claim;
  record.set(e);
  EXPECT_TRUE(missing_pieces({claim}, record).empty());
}

TEST(Recording, RefusesValuesThatAreNotFiniteOrLackACondition) {
  EXPECT_THROW(decide(kCoin, std::nan(""), ""), std::logic_error);
  EXPECT_THROW(decide(kCoin, {{"a", {1}}, {"b", {2}}}, ""), std::logic_error);
}

}  // namespace
}  // namespace klab::learning
