// The checker is checked: every wrong kernel in tests/mutants fails, by the check meant for it, and every
// right one beside them passes.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "tests/mutants/mutants.h"

namespace klab {
namespace {

std::string test_name(const std::string& id) {
  std::string name = id;
  std::ranges::replace(name, '.', '_');
  return name;
}

CheckResult check_one(const std::string& id) {
  const Variant* variant = find_variant(id);
  const LabOp* op = find_op(variant->op);
  return check(*op, {&variant, 1}).variants.front();
}

class EveryMutant : public testing::TestWithParam<Mutant> {};

TEST_P(EveryMutant, IsCaughtByTheCheckMeantForIt) {
  const CheckResult result = check_one(GetParam().id);
  ASSERT_FALSE(result.failures.empty()) << GetParam().id << " passed " << result.cases << " cases";
  for (const Failure& failure : result.failures)
    EXPECT_EQ(failure.fault, GetParam().fault) << failure_text(failure);
}

INSTANTIATE_TEST_SUITE_P(Mutants, EveryMutant, testing::ValuesIn(mutants()),
                         [](const auto& which) { return test_name(which.param.id); });

std::vector<std::string> right_probes() {
  std::vector<std::string> list;
  for (const Variant& v : variants())
    if (v.op.starts_with("probe_") &&
        std::ranges::none_of(mutants(), [&](const Mutant& m) { return m.id == v.id; }))
      list.push_back(v.id);
  return list;
}

class EveryRightProbe : public testing::TestWithParam<std::string> {};

TEST_P(EveryRightProbe, Passes) {
  const CheckResult result = check_one(GetParam());
  EXPECT_GT(result.cases, 0);
  for (const Failure& failure : result.failures) ADD_FAILURE() << failure_text(failure);
}

INSTANTIATE_TEST_SUITE_P(Probes, EveryRightProbe, testing::ValuesIn(right_probes()),
                         [](const auto& which) { return test_name(which.param); });

TEST(Mutants, CoverEveryFaultAVariantCanHave) {
  for (const Fault fault :
       {Fault::wrong_value, Fault::non_finite, Fault::out_of_bounds, Fault::input_changed, Fault::stale,
        Fault::nondeterministic, Fault::not_written, Fault::threads, Fault::late, Fault::state,
        Fault::crashed, Fault::gradient, Fault::own_forward, Fault::threw})
    EXPECT_TRUE(std::ranges::any_of(mutants(), [&](const Mutant& m) { return m.fault == fault; }))
        << name_of(fault);
}

}  // namespace
}  // namespace klab
