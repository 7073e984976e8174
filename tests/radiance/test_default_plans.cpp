// The plans that klab ships with: they name rungs that exist, cover what a field calls, and stand in only for unknown
// times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <omp.h>

#include "harness/core/registry.h"
#include "harness/timing/machine.h"
#include "labs/radiance/run/default_plans.h"
#include "labs/radiance/run/fields.h"

namespace klab {
namespace {

TEST(DefaultPlans, NameRungsThatExist) {
  ASSERT_FALSE(shipped_plans().empty());
  for (const ShippedPlan& shipped : shipped_plans())
    for (const std::string& field : field_names()) {
      const auto plan = default_plan_in(shipped.text, shipped.instruction_set, field);
      ASSERT_TRUE(plan) << shipped.instruction_set << " has no " << field;
      EXPECT_EQ(plan->instruction_set, shipped.instruction_set);
      for (const auto& [op, id] : plan->variants) {
        const Variant* v = find_variant(id);
        ASSERT_NE(v, nullptr) << id;
        EXPECT_EQ(v->id, id) << "has another name now: reports/plans.sh";
        EXPECT_EQ(v->op, op);
        EXPECT_TRUE(v->numerics.deterministic && !v->peer) << id;
      }
    }
}

// The first training of a field must not time anything at the usual settings.
TEST(DefaultPlans, CoverTheCallsOfEveryField) {
  for (const std::string& field : field_names()) {
    const auto plan = default_plan(field, "AVX3");
    ASSERT_TRUE(plan);
    FieldSettings settings;
    settings.field = field;
    std::vector<std::string> timed;
    CallTimes times(
        {}, [&](const std::string& op, const std::vector<int64_t>&, std::span<const Variant* const> list) {
          timed.push_back(op);
          return CallTimes::Measured(std::vector<double>(list.size(), 1));
        });
    times.stand_in(plan->variants, "klab's");
    const Plan chosen = Plan::named("best", run_calls(settings, 1, "cpu"), times);
    EXPECT_TRUE(timed.empty()) << field << ": " << timed.front();
    EXPECT_EQ(size_t(times.stood_in()), chosen.choices().size());
    for (const auto& [op, id] : chosen.ids()) EXPECT_EQ(id, plan->variants.at(op));
  }
}

TEST(DefaultPlans, StandBehindTimesThatAreKnown) {
  const auto plan = default_plan("hash", "AVX3");
  ASSERT_TRUE(plan);
  std::vector<PlannedCall> calls;
  for (const PlannedCall& c : run_calls({}, 1, "cpu"))
    if (c.op == "sh_fwd") calls.push_back(c);
  ASSERT_FALSE(calls.empty());
  const std::vector<const Variant*> list = variants_of("sh_fwd", "cpu");
  std::vector<CallTime> known;
  for (const PlannedCall& c : calls)
    for (const Variant* v : list)
      known.push_back({v->id, c.shape, omp_get_max_threads(), v == list.front() ? 1.0 : 2.0});
  CallTimes times(known);
  times.stand_in(plan->variants, "klab's");
  EXPECT_EQ(times.fastest(calls, list).variant, list.front());
  EXPECT_EQ(times.stood_in(), 0);
  // A rung that cannot do these calls is not among the candidates: they are timed.
  int measured = 0;
  CallTimes unknown(
      {}, [&](const std::string&, const std::vector<int64_t>&, std::span<const Variant* const> some) {
        ++measured;
        return CallTimes::Measured(std::vector<double>(some.size(), 1));
      });
  unknown.stand_in({{"sh_fwd", "sh_fwd.cpu.99_none"}}, "klab's");
  unknown.fastest(calls, list);
  EXPECT_GT(measured, 0);
  EXPECT_EQ(unknown.stood_in(), 0);
}

TEST(DefaultPlans, ServeEveryInstructionSet) {
  for (const char* set :
       {"AVX3_DL", "AVX3_SPR", "AVX3_ZEN4", "AVX2", "SSE4", "SSE2", "NEON", "SVE", "EMU128", "SCALAR"})
    for (const std::string& field : field_names())
      EXPECT_TRUE(default_plan(field, set)) << set << ", " << field;
  EXPECT_FALSE(default_plan("no field", "AVX3"));
}

TEST(DefaultPlans, TakeTheNearestVectorsAndSayWhich) {
  const auto file = [](const char* set) {
    return ShippedPlan{
        set, fmt::format(R"({{"instruction_set": "{}", "machine": "m", "fields": {{"hash": {{}}}}}})", set)};
  };
  const std::vector<ShippedPlan> shipped = {file("AVX2"), file("AVX3"), file("NEON")};
  const auto nearest = [&](const char* set) {
    return default_plan_among(shipped, "hash", set)->instruction_set;
  };
  EXPECT_EQ(nearest("AVX3"), "AVX3");
  EXPECT_EQ(nearest("AVX3_ZEN4"), "AVX3");
  EXPECT_EQ(nearest("AVX2"), "AVX2");
  EXPECT_EQ(nearest("SVE"), "AVX2");
  EXPECT_EQ(nearest("SSE4"), "NEON");
  EXPECT_EQ(owner_of(*default_plan_among(shipped, "hash", "SSE4"), "SSE4"),
            "klab's for NEON, the nearest to SSE4, recorded on m");
  EXPECT_EQ(owner_of(*default_plan_among(shipped, "hash", "AVX2"), "AVX2"), "klab's for AVX2, recorded on m");
}

// A rung that the processor does not have is not among the candidates.
TEST(DefaultPlans, TakeTheParentOfARungThatIsNotThere) {
  std::vector<PlannedCall> calls;
  for (const PlannedCall& c : run_calls({}, 1, "cpu"))
    if (c.op == "adam") calls.push_back(c);
  ASSERT_FALSE(calls.empty());
  const Variant* named = find_variant("adam.cpu.08_whole_vectors");
  ASSERT_NE(named, nullptr);
  const Variant* parent = find_variant(named->parent);
  ASSERT_NE(parent, nullptr);
  std::vector<const Variant*> list = variants_of("adam", "cpu");
  std::erase(list, named);
  CallTimes times(
      {}, [&](const std::string& op, const std::vector<int64_t>&, std::span<const Variant* const> some) {
        ADD_FAILURE() << op << " is timed";
        return CallTimes::Measured(std::vector<double>(some.size(), 1));
      });
  times.stand_in({{"adam", named->id}}, "klab's");
  EXPECT_EQ(times.fastest(calls, list).variant, parent);
  EXPECT_EQ(times.stood_in(), 1);
}

TEST(DefaultPlans, NameADamagedFile) {
  for (const char* bad :
       {"[]", "{\"instruction_set\": \"AVX3\"}", "{\"fields\": {\"hash\": {\"sh_fwd\": 1}}}",
        "{\"fields\": {\"hash\": {}}, \"machine\": \"m\"}", "{"}) {
    try {
      default_plan_in(bad, "plans/X.json", "hash");
      ADD_FAILURE() << bad;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find("plans/X.json"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace klab
