// What a failure says is true of it: whole numbers without talk of roundings, no arithmetic named for what few elements show, and the
// forward named where it is the one that is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/core/registry.h"

namespace klab {
namespace {

std::vector<Failure> failures_of(const Variant& v, const std::vector<int64_t>& shape = {}) {
  const Variant* list[] = {&v};
  return check(*find_op(v.op), list, {.max_failures = 1, .shape = shape, .done = {}})
      .variants.front()
      .failures;
}

TEST(Messages, WholeNumbersHaveAllDigitsAndNoBound) {
  for (const char* id : {"radix_sort.cpu.70_not_stable", "gs_bin.cpu.70_tile_edge"}) {
    const auto failures = failures_of(*find_variant(id));
    ASSERT_FALSE(failures.empty()) << id;
    const Failure& f = failures.front();
    EXPECT_EQ(f.bound, "") << failure_text(f);
    EXPECT_EQ((f.expected + f.got).find_first_of(".e"), std::string::npos) << failure_text(f);
    for (const char* talk : {"precision", "bfloat16", "rounding", "gain:"})
      EXPECT_EQ(f.note.find(talk), std::string::npos) << failure_text(f);
  }
}

/// The naive product, and then what `spoil` makes of it.
Variant spoiled(void (*spoil)(std::vector<float*>, int64_t)) {
  Variant v = *find_variant("probe_matmul.cpu.01_naive");
  const Variant naive = v;
  v.id = "probe_matmul.cpu.61_spoiled";
  v.bind = [naive, spoil](ShapeView shape, std::span<void* const> p) -> std::function<void()> {
    return [call = naive.bind(shape, p), spoil, c = static_cast<float*>(p[2]), n = shape[0] * shape[1]] {
      call();
      spoil({c}, n);
    };
  };
  return v;
}

TEST(Messages, CallsNoSingleElementAPattern) {
  const Variant v = spoiled([](std::vector<float*> c, int64_t n) {
    double norm2 = 0;
    for (int64_t i = 0; i < n; ++i) norm2 += double(c[0][i]) * c[0][i];
    if (n > 0) c[0][0] += float(0x1p-12 * std::sqrt(norm2));
  });
  const auto failures = failures_of(v, {30, 30, 4});
  ASSERT_FALSE(failures.empty());
  EXPECT_EQ(failures[0].note.find("errs as"), std::string::npos) << failure_text(failures[0]);
}

TEST(Messages, ElementsThatAreAllRoundedAreNamed) {
  const Variant v = spoiled([](std::vector<float*> c, int64_t n) {
    for (int64_t i = 0; i < n; ++i) c[0][i] *= i % 2 ? 1 + 0x1p-12F : 1 - 0x1p-12F;
  });
  const auto failures = failures_of(v, {30, 30, 4});
  ASSERT_FALSE(failures.empty());
  EXPECT_NE(failures[0].note.find("errs as half precision"), std::string::npos) << failure_text(failures[0]);
}

TEST(Messages, AWrongForwardIsNamedInTheBackwardThatFailsByIt) {
  Variant v = *find_variant("probe_matmul_bwd.cpu.01_naive");
  v.forward = "probe_matmul.cpu.10_wrong_sign";
  const auto failures = failures_of(v, {5, 6, 7});
  ASSERT_FALSE(failures.empty());
  EXPECT_EQ(failures[0].fault, Fault::own_forward);
  EXPECT_NE(failures[0].note.find("probe_matmul.cpu.10_wrong_sign itself is wrong: c["), std::string::npos)
      << failure_text(failures[0]);
}

}  // namespace
}  // namespace klab
