// The plans that klab ships with: they name rungs that exist, cover what a field calls, and stand in only for unknown
// times.
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

TEST(DefaultPlans, ServeInstructionSetsNearTheirOwn) {
  for (const char* near : {"AVX3_DL", "AVX3_SPR", "AVX3_ZEN4", "AVX2"}) {
    const auto plan = default_plan("hash", near);
    ASSERT_TRUE(plan) << near;
    EXPECT_TRUE(plan->instruction_set == near || plan->instruction_set == "AVX3") << near;
  }
  EXPECT_FALSE(default_plan("hash", "SSE4"));
  EXPECT_FALSE(default_plan("no field", "AVX3"));
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
