// The changes that are made to a kernel to see whether its check notices.
#include "harness/step/mutations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "harness/step/bodies.h"
#include "harness/step/mutate.h"

namespace klab {
namespace {

std::set<std::string> whats(const std::string& source) {
  std::set<std::string> list;
  for (const Mutation& m : mutations_of(source)) list.insert(m.what);
  return list;
}

TEST(Mutations, BoundsOperatorsAndConstants) {
  const auto list = whats("void f() {\n  for (int i = 0; i < n; ++i) c[i] = a[i] + 2 * b[i];\n}\n");
  for (const char* what : {"< becomes <=", "n becomes n - 1", "n becomes n + 1", "+ becomes -", "* becomes /",
                           "2 becomes 2 + 1", "2 becomes 2 - 1", "0 becomes 0 + 1"})
    EXPECT_TRUE(list.contains(what)) << what;
}

TEST(Mutations, RemoveSynchronization) {
  const auto list = whats(
      "void f() {\n  __syncthreads();\n#pragma omp barrier\n#pragma omp parallel for reduction(+ : sum)\n"
      "  atomicAdd(&x[i], y);\n}\n");
  EXPECT_TRUE(list.contains("__syncthreads() is gone"));
  EXPECT_TRUE(list.contains("#pragma omp barrier is gone"));
  EXPECT_TRUE(list.contains("reduction(+ : sum) is gone"));
  EXPECT_TRUE(list.contains("an atomic addition becomes a plain one"));
}

TEST(Mutations, RemoveAndSwapStores) {
  const std::string source = "void f() {\n  float sum = 0;\n  x.c[0] = 1;\n  sums[i] = 2;\n}\n";
  const auto list = mutations_of(source);
  const auto swapped = std::ranges::find(list, "this statement and the next change places", &Mutation::what);
  ASSERT_NE(swapped, list.end());
  EXPECT_EQ(swapped->line, 3);
  EXPECT_EQ(swapped->text, "void f() {\n  float sum = 0;\n  sums[i] = 2;\n  x.c[0] = 1;\n}\n");
  for (const Mutation& m : list) EXPECT_FALSE(m.what == "the statement is gone" && m.line == 2);
}

TEST(Mutations, LeaveCommentsStringsTemplatesAndRegistrationAlone) {
  EXPECT_TRUE(mutations_of("// a < b + 1\n#include <x>\nconst char* s = \"a < b\";\nstd::vector<float> v;\n"
                           "KLAB_VARIANT(Op, {.run = run, .tiles = {8}});\n")
                  .empty());
}

TEST(Mutations, KeepTheNumberOfLinesAndChangeSomething) {
  for (const Variant& v : variants()) {
    if (v.peer || v.op != "window_sum") continue;
    const std::string source = source_text(v);
    const auto list = mutations_of(source);
    EXPECT_GT(list.size(), 10U) << v.id;
    for (const Mutation& m : list) {
      EXPECT_NE(m.text, source) << v.id << ":" << m.line << " " << m.what;
      EXPECT_EQ(std::ranges::count(m.text, '\n'), std::ranges::count(source, '\n')) << v.id << ":" << m.line;
    }
  }
}

TEST(Mutations, SurviveWhereTheCheckFindsNoError) {
  using How = MutantResult::How;
  for (int k = 0; k <= int(Outcome::harness); ++k) {
    const auto outcome = Outcome(k);
    Answer answer;
    answer.outcome = outcome;
    if (answer.good()) EXPECT_EQ(how_of(outcome), How::survived) << name_of(outcome);
    if (how_of(outcome) == How::killed) EXPECT_FALSE(answer.good()) << name_of(outcome);
  }
  EXPECT_EQ(how_of(Outcome::wrong), How::killed);
  EXPECT_EQ(how_of(Outcome::loops), How::killed);
  EXPECT_EQ(how_of(Outcome::unchanged), How::equivalent);
  EXPECT_EQ(how_of(Outcome::harness), How::not_judged);
}

TEST(Mutations, SamplesDependOnTheSeed) {
  const auto all = mutations_of("void f() {\n  a = b + c * d - e / f + 1 + 2 + 3;\n}\n");
  const auto some = sampled(all, 4, 1), again = sampled(all, 4, 1);
  ASSERT_EQ(some.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(some[i].text, again[i].text);
  EXPECT_EQ(sampled(all, 0, 1).size(), all.size());
}

}  // namespace
}  // namespace klab
