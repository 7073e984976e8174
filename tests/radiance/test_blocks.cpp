// Block sizes of CUDA rungs that leave them open: any size computes the same, and the search finds which rungs these are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "harness/core/registry.h"
#include "harness/records/counts.h"
#include "kernels/common/block_size.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/tune/blocks.h"
#include "reference/axpy/axpy.h"
#include "reference/ema/ema.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

constexpr const char* kAxpy = "axpy.cuda.01_naive";

Plan plan_of(const std::vector<PlannedCall>& calls, const VariantIds& ids) {
  static CallTimes times = later_is_faster();
  return Plan::fixed(ids, "of a test", calls, times, "cuda");
}

TEST(Blocks, TheVariableNamesRungsAndSizes) {
  EXPECT_EQ(cuda::block_size(kAxpy, 256), 256);
  const Blocks outer({{kAxpy, 64}, {"ema.cuda.02_sixteen_bytes", 1024}});
  EXPECT_EQ(cuda::block_size(kAxpy, 256), 64);
  EXPECT_EQ(cuda::block_size("ema.cuda.02_sixteen_bytes", 256), 1024);
  EXPECT_EQ(cuda::block_size("ema.cuda.02", 256), 256) << "the beginning of a name is no name";
  {
    const Blocks inner({{kAxpy, 128}});
    EXPECT_EQ(cuda::block_size(kAxpy, 256), 128);
    EXPECT_EQ(cuda::block_size("ema.cuda.02_sixteen_bytes", 256), 1024) << "what was said before stays";
  }
  EXPECT_EQ(cuda::block_size(kAxpy, 256), 64);
  for (const char* bad : {"axpy.cuda.01_naive=100", "axpy.cuda.01_naive=", "axpy.cuda.01_naive=2048",
                          "axpy.cuda.01_naive=64x", "axpy.cuda.01_naive=-64"}) {
    setenv("KLAB_BLOCKS", bad, 1);
    EXPECT_THROW(cuda::block_size(kAxpy, 256), std::runtime_error) << bad;
  }
}

/// a·x + 1 by a CUDA variant of axpy.
std::vector<float> on_the_executor(const Variant& v, float a, const std::vector<float>& x) {
  const Backend b = simt_backend();
  const size_t bytes = x.size() * sizeof(float);
  std::vector<float> y(x.size(), 1.0F);
  void *const pa = b.alloc(sizeof a, "a"), *const px = b.alloc(bytes, "x"), *const py = b.alloc(bytes, "y");
  b.upload(pa, &a, sizeof a);
  b.upload(px, x.data(), bytes);
  b.upload(py, y.data(), bytes);
  void* const pointers[] = {pa, px, py};
  b.bind(v, std::vector<int64_t>{int64_t(x.size())}, pointers)();
  b.download(y.data(), py, bytes);
  b.free(pa, sizeof a);
  b.free(px, bytes);
  b.free(py, bytes);
  return y;
}

TEST(Blocks, AnySizeComputesTheSame) {
  const Variant& v = *find_variant(kAxpy);
  const LabOp& op = *find_op("axpy");
  std::vector<float> x(5003), first;
  std::iota(x.begin(), x.end(), -100.0F);
  const float a = 0.3F;
  for (const int threads : {256, 32, 64, 1024}) {
    const Blocks blocks({{kAxpy, threads}});
    const std::vector<float> y = on_the_executor(v, a, x);
    EXPECT_FLOAT_EQ(y[0], 1 + a * x[0]);
    if (first.empty()) first = y;
    EXPECT_EQ(y, first) << threads;
    const CountedRun run = count_run(op, v, std::vector<int64_t>{5003}, 1);
    ASSERT_FALSE(run.launches.empty());
    EXPECT_EQ(run.launches.front().block[0], unsigned(threads));
    EXPECT_TRUE(run.findings.empty());
  }
}

TEST(Blocks, FindsVariantsWithAnOpenBlockSize) {
  const std::vector<PlannedCall> calls = {planned<Axpy>({.n = 1 << 14}, ""),
                                          planned<Ema>({.n = 1 << 20}, "")};
  const auto open = open_blocks(plan_of(calls, {{"axpy", kAxpy}, {"ema", "ema.cuda.01_naive"}}), calls);
  EXPECT_EQ(open, (std::map<std::string, int>{{kAxpy, 256}})) << "the other's block is fixed";
}

// 2^14 entries are 64 blocks of 256 threads: not every multiprocessor of a large GPU has one.
TEST(Blocks, ByCountsTakesSmallerBlocksForMoreMultiprocessors) {
  const std::vector<PlannedCall> few = {planned<Axpy>({.n = 1 << 14}, "")},
                                 many = {planned<Axpy>({.n = 1 << 26}, "")};
  const auto chosen = [](const std::vector<PlannedCall>& calls) {
    return blocks_by_counts(plan_of(calls, {{"axpy", kAxpy}}), calls, [](const std::string&) {}).at(0);
  };
  const BlockChoice small = chosen(few), large = chosen(many);
  EXPECT_LT(small.threads, 256);
  EXPECT_EQ(small.gain, 1) << "the bytes are the same";
  EXPECT_EQ(large.threads, 256) << "where there is enough for all, the usual size stays";
  EXPECT_EQ(small.sizes.size(), 5U);
}

TEST(Blocks, ByTimeTakesTheFastestElseTheUsual) {
  const std::vector<PlannedCall> calls = {planned<Axpy>({.n = 1 << 14}, "")};
  const Plan plan = plan_of(calls, {{"axpy", kAxpy}});
  for (const int fastest : {512, 0}) {
    const auto found = blocks_by_time(
        plan, calls,
        [&](const std::string& variant) { return cuda::block_size(variant, 256) == fastest ? 1.0 : 2.0; },
        RaceOptions{});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].threads, fastest == 0 ? 256 : 512);
    EXPECT_NEAR(found[0].gain, fastest == 0 ? 1 : 2, 1e-12);
  }
  EXPECT_EQ(std::getenv("KLAB_BLOCKS"), nullptr) << "the search leaves nothing behind";
}

}  // namespace
}  // namespace klab
