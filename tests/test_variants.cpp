// Every registered variant passes its quick check, gradients included, under the sanitizers. The thorough one of the
// release build is `klab check`, a test of its own: it computes the reference once for a whole ladder.
// ctest: sanitized-only
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/check.h"

namespace klab {
namespace {

class EveryVariant : public testing::TestWithParam<const Variant*> {};

TEST_P(EveryVariant, PassesItsCheck) {
  const Variant* variant = GetParam();
  const LabOp* op = find_op(variant->op);
  ASSERT_NE(op, nullptr) << "no lab teaches " << variant->op;
  for (const CheckResult& result : check(*op, {&variant, 1}, {.quick = true})) {
    for (const Failure& f : result.failures)
      ADD_FAILURE() << result.variant << ": " << name_of(f.fault) << " " << f.tensor << f.index
                    << " expected " << f.expected << " got " << f.got << " bound " << f.bound << " ("
                    << f.inputs << ") " << f.note;
    if (!result.skipped.empty()) GTEST_SKIP() << result.variant << ": " << result.skipped;
    EXPECT_GT(result.cases, 0) << result.variant;
  }
}

std::vector<const Variant*> all() {
  std::vector<const Variant*> list;
  for (const Variant& v : variants()) list.push_back(&v);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Variants, EveryVariant, testing::ValuesIn(all()), [](const auto& which) {
  std::string name = which.param->id;
  std::ranges::replace(name, '.', '_');
  return name;
});

}  // namespace
}  // namespace klab
