// What a gate must not let pass: noise as wide as a slowdown, variants that are gone, runs that other work disturbed, runs
// that differ in more than the code, and zeros for what was never computed.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/cli/change_text.h"
#include "harness/cli/gate_trials.h"
#include "harness/compare/comparison.h"
#include "harness/compare/differences.h"
#include "harness/compare/looks.h"
#include "harness/records/rows_columns.h"
#include "tests/compare/made_runs.h"

namespace klab {
namespace {

constexpr const char* kRung = "cpu.06_threads";

/// A run in which one rung takes `factor(session)` times as long.
Made uneven(const std::function<double(int session)>& factor, uint64_t seed = 2) {
  Made m{.seed = seed};
  m.time = [=](const std::string& rung, int session, double s) {
    return rung == kRung ? s * factor(session) : s;
  };
  return m;
}

const Change& judged(const CompareResult& result) { return change_of(result, kRung); }

TEST(GateNoise, ANoisyNewRunIsNotSame) {
  const CompareResult result =
      compare_runs(make({}), make(uneven([](int session) { return session <= 8 ? 1 : 1.8; })));
  EXPECT_EQ(judged(result).judgement.verdict, Verdict::undecided) << change_text(result, {});
  EXPECT_HAS(judged(result).reason, "noise floor is");
  EXPECT_HAS(judged(result).reason, "the new run against itself");
  EXPECT_EQ(result.count(Verdict::same), 3) << change_text(result, {});
  EXPECT_EQ(exit_code_of(result), 2) << "a slowdown of a third was seen";
}

TEST(GateNoise, ANoisyBaseIsNotSame) {
  const CompareResult result = compare_runs(
      make(uneven([](int session) { return session <= 8 ? 1 : 1.8; }, 1)), make(slower(kRung, 1.4)));
  EXPECT_EQ(judged(result).judgement.verdict, Verdict::undecided) << change_text(result, {});
  EXPECT_HAS(judged(result).reason, "the base against itself");
}

TEST(GateNoise, NoiseOfSomeSessionsIsNotSame) {
  // Slow in every third session, in every second, and more from session to session.
  const std::function<double(int)> kinds[] = {[](int session) { return session % 3 == 0 ? 1.8 : 1; },
                                              [](int session) { return session % 2 == 0 ? 1.8 : 1; },
                                              [](int session) { return 1 + 0.04 * session; }};
  for (const auto& kind : kinds) {
    const CompareResult result = compare_runs(make({}), make(uneven(kind)));
    EXPECT_NE(judged(result).judgement.verdict, Verdict::same) << change_text(result, {});
    EXPECT_EQ(result.count(Verdict::same), 3) << change_text(result, {});
  }
}

TEST(GateNoise, AChangeBelowTheFloorIsNotSame) {
  // A floor of 8 % is within five thresholds; what was measured is above one.
  const auto step = [](double factor) {
    return [=](int session) { return factor * (session <= 8 ? 1 : 1.08); };
  };
  const CompareResult result = compare_runs(make(uneven(step(1), 1)), make(uneven([](int) { return 1.09; })));
  EXPECT_EQ(judged(result).judgement.verdict, Verdict::undecided) << change_text(result, {});
  EXPECT_HAS(judged(result).reason, "% was measured, and the noise floor is");
}

TEST(GateNoise, QuietRunsAreDecided) {
  EXPECT_EQ(judged(compare_runs(make({}), make({.seed = 2}))).judgement.verdict, Verdict::same);
  EXPECT_EQ(judged(compare_runs(make({}), make(slower(kRung, 1.4)))).judgement.verdict, Verdict::slower);
  EXPECT_EQ(judged(compare_runs(make({}), make(slower(kRung, 1.4)), {.verdict = {.threshold = 0.01}}))
                .judgement.verdict,
            Verdict::slower);
}

/// A run without some of its rows.
Recording without(Recording run, const std::function<bool(const Row&)>& gone) {
  std::erase_if(run.rows, gone);
  return run;
}
bool is_rung(const Row& r) { return r.variant == std::string("matmul.") + kRung; }

TEST(GateMissing, AVariantThatIsGoneIsNamed) {
  const CompareResult result = compare_runs(make({}), without(make({.seed = 2}), is_rung));
  EXPECT_HAS(change_text(result, {}), "matmul.cpu.06_threads, 512 cubed");
  EXPECT_HAS(change_markdown(result, {}), "matmul.cpu.06_threads, 512 cubed");
  EXPECT_HAS(change_junit(result), "matmul.cpu.06_threads, 512 cubed");
  EXPECT_EQ(exit_code_of(result, true), 2);
  EXPECT_EQ(exit_code_of(result), 0);
  EXPECT_EQ(exit_code_of(compare_runs(make({}), make({.seed = 2})), true), 0);
}

TEST(GateMissing, ARenamedVariantIsGoneAndNew) {
  Recording fresh = make({.seed = 2});
  for (Row& r : fresh.rows)
    if (is_rung(r)) r.variant += "x";
  const CompareResult result = compare_runs(make({}), fresh);
  EXPECT_HAS(change_text(result, {}), "1 only in the base:\n  matmul.cpu.06_threads, 512 cubed");
  EXPECT_HAS(change_text(result, {}), "1 only in the new run:\n  matmul.cpu.06_threadsx, 512 cubed");
  EXPECT_EQ(exit_code_of(result, true), 2);
}

TEST(GateMissing, SaysWhereTheOtherRunHasIt) {
  const std::pair<std::function<void(Row&)>, const char*> changes[] = {
      {[](Row& r) { r.threads = 4; }, "the other run has it with 4 threads"},
      {[](Row& r) { r.shape = "m=256 n=256 k=256"; }, "the other run has it at m=256 n=256 k=256"},
      {[](Row& r) { r.cache = "cold: 3 copies of 8 MB"; }, "the other run has it cold"}};
  for (const auto& [change, says] : changes) {
    Recording fresh = make({.seed = 2});
    for (Row& r : fresh.rows)
      if (is_rung(r)) change(r);
    const CompareResult result = compare_runs(make({}), fresh);
    ASSERT_EQ(result.missing.size(), 1U);
    EXPECT_HAS(result.missing[0], says);
    EXPECT_EQ(exit_code_of(result, true), 2);
  }
}

TEST(GateMissing, ASkippedVariantIsGoneWithItsReason) {
  Recording fresh = make({.seed = 2});
  for (Row& r : fresh.rows)
    if (is_rung(r)) {
      r.seconds.clear(), r.shares.clear(), r.waited.clear();
      r.skipped = "needs AVX-512";
    }
  const CompareResult gone = compare_runs(make({}), fresh);
  ASSERT_EQ(gone.missing.size(), 1U);
  EXPECT_HAS(gone.missing[0], "needs AVX-512");
  const CompareResult back = compare_runs(fresh, make({}));
  ASSERT_EQ(back.added.size(), 1U);
  EXPECT_HAS(back.added[0], "skipped in the base: needs AVX-512");
}

/// A run next to a team that spins: in the named sessions threads wait, and their rungs take 30 times as long.
Made spinning(const std::function<bool(int session)>& disturbed, uint64_t seed) {
  Made m{.seed = seed};
  m.time = [=](const std::string& rung, int session, double s) {
    return rung == kRung && disturbed(session) ? 30 * s : s;
  };
  m.waited = [=](const std::string& rung, int session) {
    return rung == kRung && disturbed(session) ? 0.6 : 0.01;
  };
  return m;
}

// The disturbed run may be either side: what was usual in it is no excuse for its rounds.
TEST(GateDisturbed, OneRuleForBothSides) {
  const auto always = [](int) { return true; };
  const auto mostly = [](int session) { return session % 4 != 0; };
  const auto never = [](int) { return false; };
  for (const auto& [base, fresh] :
       {std::pair<std::function<bool(int)>, std::function<bool(int)>>{mostly, never},
        {never, mostly},
        {always, never},
        {never, always},
        {mostly, always},
        {always, mostly}}) {
    const CompareResult result = compare_runs(make(spinning(base, 1)), make(spinning(fresh, 2)));
    EXPECT_EQ(judged(result).judgement.verdict, Verdict::undecided) << change_text(result, {});
    EXPECT_HAS(judged(result).reason, "other work took the processor");
    EXPECT_EQ(result.count(Verdict::same), 3) << change_text(result, {});
  }
}

TEST(GateDisturbed, ALossOfAThirdIsWithheld) {
  for (const auto& [lost, decided] : {std::pair{4, true}, {5, true}, {6, false}, {9, false}})
    for (const bool in_base : {false, true}) {
      const auto some = [n = lost](int session) { return session <= n; };
      const auto none = [](int) { return false; };
      const CompareResult result = in_base ? compare_runs(make(spinning(some, 1)), make(spinning(none, 2)))
                                           : compare_runs(make(spinning(none, 1)), make(spinning(some, 2)));
      EXPECT_EQ(judged(result).judgement.verdict, decided ? Verdict::same : Verdict::undecided)
          << lost << change_text(result, {});
      if (!decided) EXPECT_HAS(judged(result).reason, in_base ? "of the base" : "of the new run");
    }
}

TEST(GateDisturbed, ABaseWithoutAUsableSessionIsSaid) {
  Made base;
  base.others = [](int) { return 1.9; };
  const CompareResult result = compare_runs(make(base), make({.seed = 2}));
  EXPECT_TRUE(result.unusable_base);
  EXPECT_HAS(result.changes.front().reason, "of the base, so that it has no usable session");
  EXPECT_EQ(exit_code_of(result), 2);
  EXPECT_FALSE(compare_runs(make({}), make(base)).unusable_base);
}

TEST(GateDisturbed, RefusedTimesDecideNothing) {
  const auto refused = [](Recording run, int sessions) {
    for (Row& r : run.rows)
      if (is_rung(r) && r.session <= sessions)
        r.error = "below the time that its work takes: 3 times what fma f32 allows";
    return run;
  };
  const CompareResult result = compare_runs(make({}), refused(make(slower(kRung, 0.2)), 16));
  EXPECT_EQ(judged(result).judgement.verdict, Verdict::undecided);
  EXPECT_HAS(judged(result).reason, "its time was refused in 16 of 16 sessions of the new run");
  EXPECT_EQ(judged(compare_runs(make({}), refused(make({.seed = 2}), 1))).judgement.verdict, Verdict::same);
}

TEST(GateDifferences, EveryColumnOfARowHasATreatment) {
  for (const auto& column : rows_csv::columns()) EXPECT_NO_THROW(treatment_of(column.name)) << column.name;
  EXPECT_THROW(treatment_of("color"), std::out_of_range);
}

/// One change for each column that is named, and a part of the line that names it.
const std::map<std::string, std::pair<std::function<void(Row&)>, const char*>>& changes_by_column() {
  static const std::map<std::string, std::pair<std::function<void(Row&)>, const char*>> all = {
      {"fingerprint",
       {[](Row& r) { r.fingerprint = "fedc"; }, "another machine or build: 0123456789abcdef against fedc"}},
      {"commit", {[](Row& r) { r.commit = "def"; }, "commit abc against def"}},
      {"instruction_set",
       {[](Row& r) { r.instruction_set = "AVX2"; }, "instruction set unknown against AVX2"}},
      {"lab", {[](Row& r) { r.lab = "06_x"; }, "lab: 05_matmul against 06_x"}},
      {"backend", {[](Row& r) { r.backend = "cuda"; }, "backend: cpu against cuda"}},
      {"size", {[](Row& r) { r.size = "large"; }, "name of the size: 512 cubed against large"}},
      {"cache", {[](Row& r) { r.cache = "hot: 3 copies"; }, "cache: hot against hot: 3 copies"}},
      {"rounds",
       {[](Row& r) { r.seconds.resize(3), r.shares.resize(3), r.waited.resize(3); },
        "rounds a session: 5 against 3"}},
      {"iterations", {[](Row& r) { r.iterations = 1000; }, "length of a sample: "}},
      {"skipped",
       {[](Row& r) { r.skipped = "no GPU here"; }, "reason for no time: none against no GPU here"}},
      {"wrong", {[](Row& r) { r.wrong = "wrong value"; }, "failed check: none against wrong value"}},
      {"bytes", {[](Row& r) { r.bytes = 7; }, "bytes a call in the contract: 0 against 7"}},
      {"flops", {[](Row& r) { r.flops = 7; }, "operations a call in the contract: 0 against 7"}},
      {"ceiling", {[](Row& r) { r.ceiling = "read L2"; }, "ceiling that binds: fma f32 against read L2"}},
      {"ceiling_per_second",
       {[](Row& r) { r.ceiling_per_second = 2e9; }, "speed of the ceiling: 1e+09/s against 2e+09/s"}},
      {"error",
       {[](Row& r) { r.error = "above its ceiling: measurement error"; },
        "mark of the time: none against above its ceiling"}},
      {"needs",
       {[](Row& r) {
          r.needs = {{"registers", 48}};
        },
        "needs of the kernel: registers 40 against registers 48"}},
      {"others",
       {[](Row& r) { r.others = 0.9; }, "hardware threads that other work kept busy: 0.00 against 0.90"}},
      {"waited",
       {[](Row& r) { r.waited.assign(r.waited.size(), 0.4); },
        "threads waited for a processor: 0 % against 40 %"}},
      {"core_to_core_ns",
       {[](Row& r) { r.core_to_core_ns.assign(r.seconds.size(), 60); },
        "core-to-core latency: 137 ns against 60 ns"}},
      {"resources",
       {[](Row& r) {
          r.resources = {{"read L2", 1e-6}};
        },
        "resources of a call: fma f32 against read L2"}},
  };
  return all;
}

Recording whole(uint64_t seed) {
  Recording run = make({.seed = seed});
  for (Row& r : run.rows) {
    r.iterations = 10;
    r.ceiling_per_second = 1e9;
    r.needs = {{"registers", 40}};
    r.resources = {{"fma f32", 1e-6}};
    r.core_to_core_ns.assign(r.seconds.size(), 137);
  }
  return run;
}

TEST(GateDifferences, EveryNamedColumnIsNamedWhereItDiffers) {
  const Recording base = whole(1);
  EXPECT_TRUE(compare_runs(base, whole(2)).notes.empty());
  for (const auto& column : rows_csv::columns()) {
    if (treatment_of(column.name) != Treatment::named) continue;
    const auto at = changes_by_column().find(column.name);
    ASSERT_NE(at, changes_by_column().end()) << column.name << " is named, and no test changes it";
    Recording fresh = whole(2);
    for (Row& r : fresh.rows) at->second.first(r);
    std::string notes;
    for (const std::string& note : compare_runs(base, fresh).notes) notes += note + "\n";
    EXPECT_HAS(notes, at->second.second) << column.name;
  }
}

TEST(GateDifferences, OneLineForAllVariantsAndNoneForMeasuredDrift) {
  Recording fresh = whole(2);
  for (Row& r : fresh.rows) {
    r.needs = {{"registers", 48}};
    r.ceiling_per_second *= 1.1;
    r.others = 0.1;
    if (r.session % 2 == 0) r.ceiling = "read L2";  // limits almost equally
  }
  const auto notes = compare_runs(whole(1), fresh).notes;
  ASSERT_EQ(notes.size(), 1U) << notes.back();
  EXPECT_HAS(notes[0], "(matmul.cpu.01_naive and 3 more)");
}

// A share of a ceiling that counts another amount of work is no measure of the time.
TEST(GateDifferences, AChangedContractIsNotComparedByItsCeiling) {
  Recording fresh = whole(2);
  for (Row& r : fresh.rows) {
    r.flops = 1e9;
    for (double& s : r.shares) s *= 2;
  }
  const CompareResult result = compare_runs(whole(1), fresh);
  EXPECT_EQ(result.count(Verdict::faster), 0) << change_text(result, {});
  for (const Change& c : result.changes) EXPECT_FALSE(c.anchor.starts_with("ceiling")) << c.anchor;
}

Recording counted(int64_t sectors) {
  Recording run = make({.sessions = 1});
  for (Row& r : run.rows) {
    r.seconds.clear(), r.shares.clear(), r.waited.clear();
    r.skipped = "no GPU here";
    r.counts = {{"sectors", sectors}};
  }
  return run;
}

TEST(GateZeros, CountsHaveNoTimesAndNoChange) {
  const CompareResult result = compare_runs(counted(4096), counted(4097));
  for (const std::string& text :
       {change_text(result, {}), change_markdown(result, {}), change_junit(result)}) {
    EXPECT_EQ(text.find("0.0"), std::string::npos) << text;
    EXPECT_EQ(text.find("0 ns"), std::string::npos) << text;
    EXPECT_EQ(text.find("0/0"), std::string::npos) << text;
    EXPECT_EQ(text.find("time=\"0"), std::string::npos) << text;
  }
  for (const auto& c : change_json(result, 1)["changes"]) {
    for (const char* key : {"base_seconds", "new_seconds", "base_units", "new_units", "left_out"})
      EXPECT_TRUE(c[key].is_null()) << key << c.dump();
    for (const char* key : {"change", "margin", "p_slower"}) EXPECT_FALSE(c.contains(key)) << c.dump();
  }
}

TEST(GateZeros, ReportsNoChangeOfRowsThatCannotBeCompared) {
  Made base;
  base.others = [](int) { return 1.9; };
  const CompareResult result = compare_runs(make(base), make({.seed = 2}));
  EXPECT_EQ(change_text(result, {}).find("0.0 %"), std::string::npos) << change_text(result, {});
  EXPECT_FALSE(change_json(result, 2)["changes"][0].contains("change"));
}

TEST(GateZeros, CountsThatAreGoneAreNamed) {
  Recording fresh = counted(4096);
  for (Row& r : fresh.rows) r.counts = {{"sectors", 4096}, {"conflicts", 3}};
  Recording base = counted(4096);
  for (Row& r : base.rows) r.counts = {{"sectors", 4096}, {"requests", 9}};
  const CompareResult result = compare_runs(base, fresh);
  EXPECT_HAS(result.changes.front().reason, "requests 9 -> not counted");
  EXPECT_HAS(result.changes.front().reason, "conflicts not counted -> 3");
}

TEST(GateTrials, BoundOfARateThatWasNotSeen) {
  EXPECT_NEAR(rate_bound(0, 20), 0.139, 0.001);
  EXPECT_NEAR(rate_bound(0, 60), 0.0487, 0.001);
  EXPECT_NEAR(rate_bound(1, 20), 0.216, 0.001);
  EXPECT_EQ(rate_bound(0, 0), 1);
  EXPECT_EQ(rate_bound(3, 3), 1);
}

TEST(GateTrials, PlantedSlowdownsAreFoundAndOnlyThere) {
  const Recording base = make({}), fresh = make({.seed = 2});
  for (const double factor : {1.0, 1.10, 1.35}) {
    Looks looks(16, {});
    CompareResult result;
    for (const int sessions : looks.at()) {
      Recording part = with_slowdown(fresh, std::string("matmul.") + kRung, factor);
      std::erase_if(part.rows, [&](const Row& r) { return r.session > sessions; });
      result = looks.look(base, part);
    }
    EXPECT_EQ(judged(result).judgement.verdict, factor > 1 ? Verdict::slower : Verdict::same);
    EXPECT_EQ(result.count(Verdict::same), factor > 1 ? 3 : 4) << change_text(result, {});
    EXPECT_TRUE(looks.open().empty());
  }
}

}  // namespace
}  // namespace klab
