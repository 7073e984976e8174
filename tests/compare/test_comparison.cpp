// Two runs against each other: which rows are compared, and every way in which runs cannot be.
#include "harness/compare/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/cli/change_text.h"
#include "harness/records/session.h"
#include "tests/compare/made_runs.h"

namespace klab {
namespace {

std::string refusal(const Recording& base, const Recording& fresh, const ComparisonOptions& o = {}) {
  try {
    compare_runs(base, fresh, o);
    return "";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

TEST(Comparison, ASlowerDayIsNoRegression) {
  Made slow_day{.seed = 2};
  slow_day.time = [](const std::string&, int, double s) { return 1.7 * s; };
  // The ceiling was slower too: shares are of the same rounds.
  Recording fresh = make(slow_day);
  for (Row& r : fresh.rows)
    for (double& s : r.shares) s *= 1.7;
  const CompareResult result = compare_runs(make({}), fresh);
  EXPECT_EQ(result.count(Verdict::same), 4) << change_text(result, {});
  EXPECT_EQ(exit_code_of(result), 0);
}

// Which resource binds is measured: a run bound by another resource tells nothing about the speed of the
// first.
TEST(Comparison, IgnoresSharesOfAnotherCeiling) {
  Recording fresh = make({.seed = 2});
  for (Row& r : fresh.rows) {
    r.ceiling = "transcendental f32";
    for (double& s : r.shares) s *= 3;
  }
  const CompareResult other = compare_runs(make({}), fresh);
  EXPECT_EQ(other.count(Verdict::same), 4) << change_text(other, {});
  for (const Change& c : other.changes) {
    EXPECT_FALSE(c.anchor.starts_with("ceiling")) << c.anchor;
    EXPECT_EQ(c.machine, 0) << c.variant;
  }
  // The load of some sessions suffices, and only these count.
  for (Row& r : fresh.rows)
    if (r.session > 10) {
      r.ceiling = "fma f32";
      for (double& s : r.shares) s /= 3;
    }
  for (const Change& c : compare_runs(make({}), fresh).changes) EXPECT_NEAR(c.machine, 0, 0.3) << c.variant;
}

TEST(Comparison, OneSlowerRungIsNamedAndTheOthersAreNot) {
  const CompareResult result = compare_runs(make({}), make(slower("cpu.02_loop_order", 1.10)));
  EXPECT_EQ(change_of(result, "cpu.02_loop_order").judgement.verdict, Verdict::slower);
  EXPECT_NEAR(change_of(result, "cpu.02_loop_order").judgement.change.value, std::log(1.10), 0.02);
  EXPECT_EQ(result.count(Verdict::same), 3) << change_text(result, {});
  EXPECT_EQ(exit_code_of(result), 1);
}

TEST(Comparison, AFasterRungPasses) {
  const CompareResult result = compare_runs(make({}), make(slower("cpu.06_threads", 0.8)));
  EXPECT_EQ(change_of(result, "cpu.06_threads").judgement.verdict, Verdict::faster);
  EXPECT_EQ(exit_code_of(result), 0);
}

// Were the first rung the only measure, all others would look faster.
TEST(Comparison, AChangedAnchorDoesNotScaleTheOthers) {
  for (const char* anchor : {"cpu.01_naive", "cpu.90_openblas"}) {
    const CompareResult result = compare_runs(make({}), make(slower(anchor, 1.25)));
    EXPECT_EQ(change_of(result, anchor).judgement.verdict, Verdict::slower) << change_text(result, {});
    EXPECT_EQ(result.count(Verdict::faster), 0) << change_text(result, {});
    EXPECT_EQ(result.count(Verdict::slower), 1) << change_text(result, {});
  }
}

TEST(Comparison, ChangesBelowTheThresholdAreTheSame) {
  const CompareResult result =
      compare_runs(make({}), make(slower("cpu.06_threads", 1.03)), {.verdict = {.threshold = 0.06}});
  EXPECT_EQ(result.count(Verdict::same), 4) << change_text(result, {});
}

TEST(Comparison, SkipsRungsDisturbedByOtherWork) {
  // Other work slows what uses both cores, and the system reports that its threads had to wait.
  Made loaded{.seed = 2};
  loaded.time = [](const std::string& rung, int, double s) {
    return rung == "cpu.06_threads" || rung == "cpu.90_openblas" ? 1.8 * s : s;
  };
  loaded.waited = [](const std::string& rung, int) {
    return rung == "cpu.06_threads" || rung == "cpu.90_openblas" ? 0.4 : 0.01;
  };
  const CompareResult result = compare_runs(make({}), make(loaded));
  EXPECT_EQ(result.count(Verdict::slower), 0) << change_text(result, {});
  EXPECT_EQ(change_of(result, "cpu.02_loop_order").judgement.verdict, Verdict::same);
  EXPECT_EQ(change_of(result, "cpu.06_threads").judgement.verdict, Verdict::undecided);
  EXPECT_HAS(change_of(result, "cpu.06_threads").reason, "other work");
  EXPECT_EQ(exit_code_of(result), 0);
  EXPECT_EQ(exit_code_of(result, true), 2);
}

TEST(Comparison, SkipsSessionsDisturbedByOtherWork) {
  // No thread waits, but rungs that live on the caches are slower than others.
  const auto beside = [](Made m, double from, double threads) {
    m.others = [=](int session) { return session >= from ? threads : 0.02; };
    return make(m);
  };
  const Made changed = slower("cpu.06_threads", 1.15);
  const CompareResult crowded = compare_runs(make({}), beside(changed, 1, 0.9));
  EXPECT_EQ(crowded.count(Verdict::undecided), 4) << change_text(crowded, {});
  EXPECT_HAS(change_of(crowded, "cpu.06_threads").reason, "other work");
  // Equally busy machines can be compared, in either order; and quiet sessions count.
  for (const CompareResult& fair : {compare_runs(beside({}, 1, 0.9), beside(changed, 1, 0.9)),
                                    compare_runs(beside({}, 1, 0.1), beside(changed, 1, 0.2)),
                                    compare_runs(make({}), beside(changed, 12, 0.9))}) {
    EXPECT_EQ(change_of(fair, "cpu.06_threads").judgement.verdict, Verdict::slower) << change_text(fair, {});
    EXPECT_EQ(change_of(fair, "cpu.02_loop_order").judgement.verdict, Verdict::same);
  }
  EXPECT_EQ(change_of(compare_runs(beside({}, 1, 0.9), make(changed)), "cpu.06_threads").judgement.verdict,
            Verdict::undecided);
}

TEST(Comparison, AWrongVariantFails) {
  Recording fresh = make({.seed = 2});
  for (Row& r : fresh.rows)
    if (r.variant == "matmul.cpu.02_loop_order" && r.session == 1) {
      r.seconds.clear();
      r.shares.clear();
      r.waited.clear();
      r.wrong = "wrong value in c[3,17]";
    }
  const CompareResult result = compare_runs(make({}), fresh);
  EXPECT_EQ(change_of(result, "cpu.02_loop_order").failed, "wrong value in c[3,17]");
  EXPECT_EQ(exit_code_of(result), 1);
}

TEST(Comparison, OneProcessWithManyRoundsIsComparedMoreCautiously) {
  Made base{.sessions = 1, .rounds = 15}, same{.seed = 2, .sessions = 1, .rounds = 15};
  const CompareResult result = compare_runs(make(base), make(same));
  EXPECT_FALSE(result.sessions);
  EXPECT_HAS(result.notes.front(), "one process");
  EXPECT_EQ(result.count(Verdict::slower) + result.count(Verdict::faster), 0);
  Made ten = slower("cpu.02_loop_order", 1.10);
  ten.sessions = 1;
  ten.rounds = 15;
  EXPECT_EQ(change_of(compare_runs(make(base), make(ten)), "cpu.02_loop_order").judgement.verdict,
            Verdict::slower);
}

TEST(Comparison, ListsRowsThatOnlyOneRunHas) {
  Recording base = make({}), fresh = make({.seed = 2});
  std::erase_if(base.rows, [](const Row& r) { return r.variant == "matmul.cpu.06_threads"; });
  std::erase_if(fresh.rows, [](const Row& r) { return r.variant == "matmul.cpu.02_loop_order"; });
  const CompareResult result = compare_runs(base, fresh);
  ASSERT_EQ(result.missing.size(), 1U);
  EXPECT_HAS(result.missing[0], "matmul.cpu.02_loop_order");
  ASSERT_EQ(result.added.size(), 1U);
  EXPECT_HAS(result.added[0], "matmul.cpu.06_threads");
  EXPECT_HAS(change_text(result, {.list_missing = true}), "matmul.cpu.02_loop_order, 512 cubed");
  EXPECT_HAS(change_text(result, {}), "matmul.cpu.02_loop_order, 512 cubed");
}

TEST(Comparison, CountsAreComparedExactly) {
  Recording base = make({}), fresh = make({.seed = 2});
  for (Row& r : base.rows) r.counts = {{"sectors", 4096}, {"conflicts", 31}};
  for (Row& r : fresh.rows)
    r.counts = {{"sectors", r.variant == "matmul.cpu.02_loop_order" ? 4097 : 4096}, {"conflicts", 31}};
  const CompareResult result = compare_runs(base, fresh);
  EXPECT_EQ(change_of(result, "cpu.02_loop_order").judgement.verdict, Verdict::slower);
  EXPECT_HAS(change_of(result, "cpu.02_loop_order").reason, "sectors 4096 -> 4097");
  EXPECT_EQ(result.count(Verdict::same), 3);
  EXPECT_EQ(exit_code_of(result), 1);
}

TEST(Comparison, CountsAreEnoughWithoutTimes) {
  Recording base = make({.sessions = 1});
  for (Row& r : base.rows) {
    r.seconds.clear();
    r.shares.clear();
    r.waited.clear();
    r.skipped = "no GPU here";
    r.counts = {{"sectors", 4096}};
  }
  Recording fresh = base;
  EXPECT_EQ(exit_code_of(compare_runs(base, fresh)), 0);
  fresh.rows[1].counts["sectors"] = 5000;
  EXPECT_EQ(exit_code_of(compare_runs(base, fresh)), 1);
}

TEST(ComparisonInput, RefusesRunsWithoutCommonShapes) {
  Recording fresh = make({});
  for (Row& r : fresh.rows) r.shape = "m=256 n=256 k=256";
  EXPECT_HAS(refusal(make({}), fresh), "nothing to compare");
  EXPECT_HAS(refusal(make({}), Recording{}), "holds neither times nor counts");
}

TEST(ComparisonInput, RefusesASingleRound) {
  EXPECT_HAS(refusal(make({}), make({.sessions = 1, .rounds = 1})), "1 round");
  EXPECT_HAS(refusal(make({.sessions = 1, .rounds = 1}), make({})), "the base has 1 round");
}

TEST(ComparisonInput, AnotherMachineGivesRatiosOnly) {
  Recording fresh = make({.seed = 2});
  for (Row& r : fresh.rows) r.fingerprint = "fedcba9876543210";
  EXPECT_HAS(refusal(make({}), fresh, {.absolute = true}), "absolute times cannot be compared");
  const CompareResult result = compare_runs(make({}), fresh);
  EXPECT_HAS(result.notes.front(), "another machine");
  EXPECT_EQ(result.count(Verdict::same), 4);
}

TEST(ComparisonInput, ReportsAnotherCommit) {
  Recording fresh = make({.seed = 2});
  for (Row& r : fresh.rows) r.commit = "def";
  EXPECT_EQ(compare_runs(make({}), fresh).notes, std::vector<std::string>{"commit abc against def"});
}

TEST(ComparisonInput, AbsoluteTimesOfOneMachine) {
  Made slow_day{.seed = 2};
  slow_day.time = [](const std::string&, int, double s) { return 4 * s; };
  const CompareResult result = compare_runs(make({}), make(slow_day), {.absolute = true});
  EXPECT_EQ(result.count(Verdict::slower), 4) << change_text(result, {});
}

TEST(ComparisonText, AllFormatsAgree) {
  const CompareResult result = compare_runs(make({}), make(slower("cpu.02_loop_order", 1.10)));
  EXPECT_HAS(change_summary(result), "1 SLOWER, 3 SAME");
  EXPECT_HAS(change_text(result, {}), "SLOWER");
  EXPECT_HAS(change_markdown(result, {}), "| `matmul.cpu.02_loop_order` | 512 cubed | **SLOWER** |");
  const auto j = change_json(result, 1);
  EXPECT_EQ(j["summary"]["slower"], 1);
  EXPECT_EQ(j["changes"].size(), 4U);
  EXPECT_EQ(j["exit_code"], 1);
  const std::string xml = change_junit(result);
  EXPECT_HAS(xml, "tests=\"4\" failures=\"1\"");
  EXPECT_HAS(xml, "<failure type=\"SLOWER\"");
}

TEST(ComparisonText, JunitEscapes) {
  CompareResult result;
  Change c{.variant = "a.b.c", .size = "<\"&'>", .reason = {}, .failed = "x < y & \"z\""};
  result.changes.push_back(c);
  const std::string xml = change_junit(result);
  EXPECT_HAS(xml, "&lt;&quot;&amp;");
  EXPECT_HAS(xml, "x &lt; y &amp; &quot;z&quot;");
}

TEST(Session, PlansSurviveTheTransferToAnotherProcess) {
  SessionPlan plan = plan_of(make({}));
  ASSERT_EQ(plan.tasks.size(), 1U);
  EXPECT_EQ(plan.tasks[0].shape.shape, (std::vector<int64_t>{512, 512, 512}));
  EXPECT_EQ(plan.tasks[0].variants.size(), 4U);
  plan.rounds = 9;
  plan.check = true;
  EXPECT_EQ(to_text(plan_from_text(to_text(plan))), to_text(plan));
}

TEST(Session, BaselinesHavePlainNames) {
  EXPECT_HAS(baseline_at("r", "0123", "main-1.2").rows_file, "r/reports/recorded/0123/main-1.2.csv");
  for (const char* bad : {"", ".", "..", "a/b", "-x", "a b", "a\nb"})
    EXPECT_THROW(baseline_at("r", "0123", bad), std::invalid_argument) << bad;
}

}  // namespace
}  // namespace klab
