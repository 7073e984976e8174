// reduce.cuda.04_sixteen_bytes: four loads of 16 bytes in flight.
//
// CHANGE    a thread loads four times four floats before it adds the first, and has four sums.
// EXPECT    a quarter of the requests, and 128 KB in flight a multiprocessor where 4-byte loads had a quarter of that: the rate
//           at which memory is read, some 62 us for 2^26 elements.
// NUMERICS  as the parent, with four sums a thread.
// NEEDS     a tensor that begins on 16 bytes, as cudaMalloc returns it; others go one float at a time.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/last_block.h"
#include "reference/reduce/reduce.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kLoads = 4, kTile = kThreads * kLoads * 4;
constexpr int kBlocksEach = 8;  // of a multiprocessor: all threads that it holds

#include "kernels/reduce/cuda/03_last_block-inl.h"

__global__ void __launch_bounds__(kThreads) add_up(const float* __restrict__ x, int64_t n, int64_t fours,
                                                   float* sums, unsigned* arrivals, float* sum) {
  const auto* const x4 = reinterpret_cast<const float4*>(x);
  const int64_t stride = int64_t(gridDim.x) * kThreads, first = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  float4 of = make_float4(0, 0, 0, 0);
  int64_t i = first;
  for (; i + (kLoads - 1) * stride < fours; i += kLoads * stride) {
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = x4[i + k * stride];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) of.x += v[k].x, of.y += v[k].y, of.z += v[k].z, of.w += v[k].w;
  }
  for (; i < fours; i += stride) {
    const float4 v = x4[i];
    of.x += v.x, of.y += v.y, of.z += v.z, of.w += v.w;
  }
  float own = (of.x + of.y) + (of.z + of.w);
  for (i = 4 * fours + first; i < n; i += stride) own += x[i];  // at most three are left, or all
  own = sum_of_block(own);
  if (gridDim.x > 1) {
    if (threadIdx.x == 0) sums[blockIdx.x] = own;
    if (!cuda::is_last_block(arrivals, gridDim.x)) return;
    own = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += kThreads) own += sums[k];
    own = sum_of_block(own);
  }
  if (threadIdx.x == 0) *sum = own;
}

void run(const Reduce::Args<float>& x) {
  const int64_t wanted = (x.shape.n + kTile - 1) / kTile;
  const int64_t held = int64_t(cuda::device().multiprocessors) * kBlocksEach;
  const int64_t blocks = wanted < 1 ? 1 : wanted < held ? wanted : held;
  const cuda::Scratch scratch(size_t(blocks + 1) * sizeof(float));
  auto* const arrivals = scratch.as<unsigned>();
  if (blocks > 1) cuda::fill_zero(arrivals, sizeof(unsigned));
  const int64_t fours = reinterpret_cast<uintptr_t>(x.x) % 16 == 0 ? x.shape.n / 4 : 0;
  cuda::launch(add_up, unsigned(blocks), kThreads, 0, x.x, x.shape.n, fours, scratch.as<float>() + 1,
               arrivals, x.sum);
}

KLAB_VARIANT(Reduce, {.run = run,
                      .parent = "03_last_block",
                      .tiles = {4, 32, kThreads, 4 * kThreads, kTile},
                      .expect = {.shape = {1 << 26}, .over_parent = 1}});

}  // namespace
}  // namespace klab
