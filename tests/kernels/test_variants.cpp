// Every registered variant passes its quick check, gradients included, under the sanitizers. The thorough one of the
// release build is `klab check`. Either computes a reference once for a whole ladder.
// ctest: sanitized-only
#include <gtest/gtest.h>

#include <set>

#include "harness/check/check.h"
#include "harness/check/failure_text.h"

namespace klab {
namespace {

class EveryVariant : public testing::TestWithParam<std::string> {};

TEST_P(EveryVariant, PassesItsCheck) {
  const LabOp* op = find_op(GetParam());
  ASSERT_NE(op, nullptr) << "no lab teaches " << GetParam();
  const auto ladder = variants_of(GetParam());
  const OpCheck results = check(*op, ladder, {.quick = true});
  ASSERT_EQ(results.variants.size(), ladder.size());
  std::vector<CheckResult> list = results.variants;
  if (results.reference) list.push_back(*results.reference);
  int ran = 0;
  for (const CheckResult& result : list) {
    for (const Failure& f : result.failures) ADD_FAILURE() << result.variant << ": " << failure_text(f);
    if (!result.skipped.empty()) {
      std::printf("%s: skipped: %s\n", result.variant.c_str(), result.skipped.c_str());
      continue;
    }
    EXPECT_GT(result.cases, 0) << result.variant;
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

std::set<std::string> all() {
  std::set<std::string> ops;
  for (const Variant& v : variants()) ops.insert(v.op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ladders, EveryVariant, testing::ValuesIn(all()),
                         [](const auto& which) { return which.param; });

}  // namespace
}  // namespace klab
