// Which variants are checked in full before they are timed, and what is remembered of it.
#include "harness/timing/full_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "harness/core/registry.h"
#include "tests/mutants/mutants.h"

namespace klab {
namespace {

class FullChecks : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove(full_check_file());
    wrong_ = find_variant("probe_matmul.cpu.12_tile_edge");
    for (const Variant* v : variants_of("probe_matmul", "cpu"))
      if (right_ == nullptr &&
          std::ranges::none_of(mutants(), [&](const Mutant& m) { return m.id == v->id; }))
        right_ = v;
    ASSERT_NE(wrong_, nullptr);
    ASSERT_NE(right_, nullptr);
  }
  void TearDown() override { std::filesystem::remove(full_check_file()); }
  static FullCheck run(std::vector<const Variant*> list, uint64_t seed = 1) {
    return full_check(*find_op("probe_matmul"), list, seed, {});
  }
  const Variant* wrong_ = nullptr;
  const Variant* right_ = nullptr;
};

TEST_F(FullChecks, CheckAVariantOnceForASeed) {
  const FullCheck first = run({right_});
  EXPECT_EQ(first.before, 0);
  ASSERT_EQ(first.results.size(), 1U);
  EXPECT_TRUE(first.results[0].passed());
  const FullCheck second = run({right_});
  EXPECT_EQ(second.before, 1);
  EXPECT_TRUE(second.results.empty());
  EXPECT_EQ(second.wrong, std::vector<std::string>{""});
  EXPECT_EQ(run({right_}, 2).before, 0);
}

TEST_F(FullChecks, NeverRememberAFailure) {
  for (int again = 0; again < 2; ++again) {
    const FullCheck found = run({right_, wrong_});
    EXPECT_EQ(found.before, again);
    EXPECT_EQ(found.wrong[0], "");
    EXPECT_NE(found.wrong[1], "");
    EXPECT_EQ(found.results.back().variant, wrong_->id);
  }
}

}  // namespace
}  // namespace klab
