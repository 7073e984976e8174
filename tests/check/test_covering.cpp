// The covering array of conditions: every pair that the contract allows is in a row, seeds take different triples, and the numbers
// of threads of a check are seen exactly.
#include "harness/check/covering.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <map>
#include <set>

#include "harness/check/cases.h"
#include "harness/check/thread_watch.h"

namespace klab {
namespace {

Covering rows_of(const LabOp& op, uint64_t seed, bool all = false) {
  const auto sizes = check_sizes(op, {});
  const auto cost = [&](const std::vector<int64_t>& shape) {
    return op.op.valid(shape) && work(op.op, shape) <= op.check_flops ? work(op.op, shape) : -1;
  };
  return covering_rows(
      op, {.sizes = sizes, .tiles = {}, .seed = seed, .share = 1e5, .all_triples = all, .cost = cost});
}

TEST(Covering, HoldsEveryPairOfResiduesAndAlignments) {
  const Covering covering = rows_of(*find_op("probe_matmul"), 1);
  EXPECT_TRUE(covering.left_out.empty()) << covering.left_out.front();
  std::set<std::pair<int64_t, int64_t>> residues;
  std::map<std::pair<bool, size_t>, int> with_alignment;
  for (const CoveringRow& row : covering.rows) {
    residues.emplace(row.shape[0] % 16, row.shape[2] % 16);
    ++with_alignment[{row.shape[1] % 16 == 15, row.alignment}];
  }
  for (const int64_t m : {0, 1, 15})
    for (const int64_t k : {0, 1, 15}) EXPECT_TRUE(residues.contains({m, k})) << m << " " << k;
  for (size_t alignment = 0; alignment < kCoveredAlignments; ++alignment)
    EXPECT_TRUE(with_alignment.contains({true, alignment})) << alignment;
}

TEST(Covering, TakesOtherTriplesForOtherSeedsAndAllWhenAsked) {
  const LabOp& op = *find_op("probe_matmul");
  const auto triples = [](const Covering& c) {
    std::set<std::vector<int64_t>> list;
    for (const CoveringRow& row : c.rows)
      list.insert({row.shape[0] % 16, row.shape[1] % 16, row.shape[2] % 16});
    return list;
  };
  EXPECT_NE(triples(rows_of(op, 1)), triples(rows_of(op, 2)));
  const auto all = triples(rows_of(op, 1, true));
  for (const int64_t m : {0, 1, 15})
    for (const int64_t n : {0, 1, 15})
      for (const int64_t k : {0, 1, 15}) EXPECT_TRUE(all.contains({m, n, k})) << m << " " << n << " " << k;
}

TEST(Covering, LeavesOutWhatAContractForbidsAndSaysSo) {
  LabOp op = *find_op("probe_matmul");
  op.op.valid = [](ShapeView shape) { return shape[0] % 16 != 15 || shape[1] % 16 != 1; };
  const Covering covering = rows_of(op, 1);
  ASSERT_EQ(covering.left_out.size(), 1U);
  EXPECT_EQ(covering.left_out.front(), "m one less, n one more");
}

TEST(ThreadWatch, CountsTheMembersOfATeamExactly) {
  if (!threads_are_watched()) GTEST_SKIP() << "this build does not watch threads";
  for (const int threads : {1, 2, 3, 5}) {
    use_threads(threads);
    const ThreadWatch watch(threads, false);
#pragma omp parallel num_threads(threads)
    __asm__ volatile("");
    EXPECT_EQ(watch.most(), threads);
    EXPECT_EQ(watch.too_many(), "");
  }
  use_threads(3);
  const ThreadWatch watch(3, false);
#pragma omp parallel num_threads(4)
  __asm__ volatile("");
  EXPECT_EQ(watch.too_many(), "4 threads at once where 3 were asked for");
  use_threads(omp_get_num_procs());
}

}  // namespace
}  // namespace klab
