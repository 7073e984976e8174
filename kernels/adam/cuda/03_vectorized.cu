// adam.cuda.03_vectorized: four entries per thread, 16 bytes an access.
//
// CHANGE    a thread has four neighboring entries: four groups, two, or one, or a share of one of up to 32
//           entries, whose lanes learn from a ballot whether it has a gradient. Logarithms of the betas are
//           taken once a block, and the corrections are 1 - e^(step·log beta) by one function that does not
//           cancel, instead of two powers in double. Groups of other sizes up to 16,384 entries have a block each,
//           in one launch.
// EXPECT    a quarter of the requests, no sector touched twice, and the double arithmetic gone, which on most
//           GPUs takes longer than the memory: near copy bandwidth, at least 1.3 times faster than the
//           parent.
// NUMERICS  the corrections within 3u; the rest as the parent.
// NEEDS     arrays that begin at multiples of 16 bytes, and groups of 1, 2, 4, 8, 16, 32 or more than 32
//           entries; each of the others has a block to itself.
// SASS      LDG.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/block_size.h"
#include "kernels/common/cuda.h"
#include "kernels/common/optimizer/adam_four.h"
#include "reference/adam/adam.h"

namespace klab {
namespace {
using namespace adam_four;

constexpr int kThreads = 256;

constexpr int64_t kSmall = 32;     // entries of a group that one warp looks after
constexpr int64_t kWhole = 16384;  // entries of a group that one block looks after
constexpr int64_t kPart = 4 * kThreads;

/// A thread has four entries: 4/kGroup groups, or one group together with the kGroup/4 - 1 neighboring lanes.
template <int kGroup>
__global__ void __launch_bounds__(cuda::kMostThreads)
    update_groups(int64_t n, const float* __restrict__ hyper, const float* __restrict__ gradient, State state,
                  int32_t* __restrict__ steps) {
  constexpr int kOwn = kGroup < 4 ? 4 / kGroup : 1, kLanes = kGroup < 4 ? 1 : kGroup / 4;
  const Decay decay = decay_of(hyper);
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * 4, count = n - i;
  float g[4], correct1[4] = {}, correct2[4] = {};
  load(gradient + i, true, count, g);
  const int lane = int(threadIdx.x) % 32, first = lane / kLanes * kLanes;
  bool mine = false;  // any of this thread's groups lives
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    constexpr int kEach = 4 / kOwn;
    bool live = false;
    for (int e = 0; e < kEach; ++e) live = live || g[k * kEach + e] != 0;
    if (kLanes > 1) live = __ballot_sync(~0U, live) >> first & ((1ULL << kLanes) - 1);
    const int64_t j = (i + k * kEach) / kGroup;
    int step = 0;
    if (live && lane == first) step = ++steps[j];
    if (kLanes > 1) step = __shfl_sync(~0U, step, first);
    if (!live) continue;
    mine = true;
    for (int e = 0; e < kEach; ++e) {
      correct1[k * kEach + e] = decay.correct1(step);
      correct2[k * kEach + e] = decay.correct2(step);
    }
  }
  if (mine && count > 0) update_four(hyper, state, i, true, count, g, correct1, correct2);
}

/// A block a group: one launch in place of the three below and a fill, which take four times the floor of a launch for the
/// weights of a small network.
__global__ void __launch_bounds__(kWhole / 16)
    update_whole(int64_t n, int64_t group, bool whole, const float* __restrict__ hyper,
                 const float* __restrict__ gradient, State state, int32_t* __restrict__ steps) {
  const Decay decay = decay_of(hyper);
  const int64_t begin = blockIdx.x * group, end = min(n, begin + group);
  bool any = false;
  for (int64_t i = begin + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
    float g[4];
    load(gradient + i, whole, end - i, g);
    any = any || g[0] != 0 || g[1] != 0 || g[2] != 0 || g[3] != 0;
  }
  if (__syncthreads_or(any) == 0) return;
  const int count = steps[blockIdx.x] + 1;
  __syncthreads();  // all have read the count
  if (threadIdx.x == 0) steps[blockIdx.x] = count;
  const float c1 = decay.correct1(count), c2 = decay.correct2(count);
  const float correct1[4] = {c1, c1, c1, c1}, correct2[4] = {c2, c2, c2, c2};
  for (int64_t i = begin + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
    float g[4];
    load(gradient + i, whole, end - i, g);
    update_four(hyper, state, i, whole, end - i, g, correct1, correct2);
  }
}

/// Entries [begin, end) of the group that a block has part of.
struct Part {
  int64_t group, begin, end;
};

__device__ __forceinline__ Part part_of(int64_t n, int64_t group, int64_t parts) {
  const int64_t j = blockIdx.x / parts, begin = j * group + blockIdx.x % parts * kPart;
  return {j, begin, min(min(n, (j + 1) * group), begin + kPart)};
}

__global__ void __launch_bounds__(kThreads)
    find_live(int64_t n, int64_t group, int64_t parts, bool whole, const float* __restrict__ gradient,
              int* __restrict__ live) {
  const Part part = part_of(n, group, parts);
  const int64_t i = part.begin + 4 * threadIdx.x;
  float g[4];
  load(gradient + i, whole, part.end - i, g);
  const bool any = g[0] != 0 || g[1] != 0 || g[2] != 0 || g[3] != 0;
  if (__syncthreads_or(any) && threadIdx.x == 0) atomicOr(live + part.group, 1);
}

__global__ void __launch_bounds__(kThreads)
    update_parts(int64_t n, int64_t group, int64_t parts, bool whole, const int* __restrict__ live,
                 const float* __restrict__ hyper, const float* __restrict__ gradient, State state,
                 const int32_t* __restrict__ steps) {
  const Decay decay = decay_of(hyper);
  const Part part = part_of(n, group, parts);
  const int64_t i = part.begin + 4 * threadIdx.x;
  if (!live[part.group] || i >= part.end) return;
  const int count = steps[part.group] + 1;
  const float c1 = decay.correct1(count), c2 = decay.correct2(count);
  const float correct1[4] = {c1, c1, c1, c1}, correct2[4] = {c2, c2, c2, c2};
  float g[4];
  load(gradient + i, whole, part.end - i, g);
  update_four(hyper, state, i, whole, part.end - i, g, correct1, correct2);
}

__global__ void __launch_bounds__(kThreads)
    count_steps(int64_t groups, const int* __restrict__ live, int32_t* __restrict__ steps) {
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j < groups) steps[j] += live[j];
}

unsigned blocks_of(int64_t threads, int block = kThreads) { return unsigned((threads + block - 1) / block); }

void run(const Adam::Args<float>& x) {
  const int64_t n = x.shape.n, group = x.shape.group, groups = Adam::groups(x.shape);
  if (n == 0) return;
  const State state{x.param, x.m, x.v};
  const bool whole =
      cuda::aligned(x.gradient) && cuda::aligned(x.param) && cuda::aligned(x.m) && cuda::aligned(x.v);
  if (whole && group <= kSmall && (group & (group - 1)) == 0) {
    constexpr decltype(&update_groups<1>) of_size[] = {update_groups<1>,  update_groups<2>,
                                                       update_groups<4>,  update_groups<8>,
                                                       update_groups<16>, update_groups<32>};
    const int block = cuda::block_size("adam.cuda.03_vectorized", kThreads);
    cuda::launch(of_size[__builtin_ctzll(uint64_t(group))], dim3(blocks_of((n + 3) / 4, block)),
                 dim3(unsigned(block)), 0, n, x.hyper, x.gradient, state, x.steps);
    return;
  }
  const dim3 threads(kThreads);
  const int64_t parts = (min(n, group) + kPart - 1) / kPart;
  const dim3 by_part(unsigned(groups * parts));
  const bool by_four =
      whole && (group % 4 == 0 || groups == 1);  // then every part begins at a multiple of four
  if (group <= kWhole || n <= kWhole) {
    const int64_t warps = (min(n, group) + 127) / 128, most = kWhole / 512;
    cuda::launch(update_whole, dim3(unsigned(groups)), dim3(unsigned(32 * min(warps, most))), 0, n, group,
                 by_four, x.hyper, x.gradient, state, x.steps);
    return;
  }
  cuda::Scratch scratch(size_t(groups) * sizeof(int));
  int* live = scratch.as<int>();
  cuda::fill_zero(live, size_t(groups) * sizeof(int));
  cuda::launch(find_live, by_part, threads, 0, n, group, parts, by_four, x.gradient, live);
  cuda::launch(update_parts, by_part, threads, 0, n, group, parts, by_four, live, x.hyper, x.gradient, state,
               x.steps);
  cuda::launch(count_steps, dim3(blocks_of(groups)), dim3(kThreads), 0, groups, live, x.steps);
}

KLAB_VARIANT(Adam, {.run = run,
                    .parent = "02_fused",
                    .tiles = {4, 32, kPart, kWhole},
                    .expect = {.shape = {1 << 23, 2, 0}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
