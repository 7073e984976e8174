// sample_begin.cuda.02_block_scan: a block scans, 1024 rays at a time.
//
// CHANGE   prefix sums within a block: shuffles in each warp, then over the sums of the warps; the block
//          walks over all rays.
// EXPECT   five shuffles and two barriers for 1024 rays instead of 1024 additions in a row: at least ten
//          times faster.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sample_begin/sample_begin.h"

namespace klab {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / 32;

__device__ __forceinline__ int32_t wanted(const SampleBegin::Args<float>& x, int64_t r) {
  const int64_t marched = x.ray_begin[r + 1] - x.ray_begin[r], limit = x.limit[r];
  const int64_t n = (limit < marched ? limit : marched) - x.shape.first;
  return int32_t(n < 0 ? 0 : n < x.shape.most ? n : x.shape.most);
}

__global__ void __launch_bounds__(kThreads)
    share_rest(SampleBegin::Args<float> x, const int32_t* __restrict__ total) {
  const int64_t none = x.shape.rays - *x.count;
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x + 1;
  if (j <= none) x.begin[*x.count + j] = int32_t(*total + (x.shape.capacity - *total) * j / none);
}

__device__ __forceinline__ int64_t scan_warp(int64_t value, int lane) {
  for (int by = 1; by < 32; by *= 2) {
    const int64_t below = __shfl_up_sync(~0U, value, by);
    if (lane >= by) value += below;
  }
  return value;
}

/// begin[r+1] is the sum of all n up to r while that fits, and the last that did behind it.
__global__ void __launch_bounds__(kThreads) scan(SampleBegin::Args<float> x, int32_t* __restrict__ total) {
  __shared__ int64_t sums[kWarps];
  __shared__ int last;
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  if (thread == 0) last = x.begin[0] = 0;
  int64_t before = 0;
  for (int64_t base = 0; base < x.shape.rays; base += kThreads) {
    const int64_t r = base + thread;
    int64_t sum = scan_warp(r < x.shape.rays ? wanted(x, r) : 0, lane);
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) sums[lane] = scan_warp(sums[lane], lane);
    __syncthreads();
    sum += before + (warp > 0 ? sums[warp - 1] : 0);
    before += sums[kWarps - 1];
    const bool fits = sum <= x.shape.capacity;
    if (fits && r < x.shape.rays) atomicMax(&last, int(sum));
    __syncthreads();
    if (r < x.shape.rays) x.begin[r + 1] = fits ? int32_t(sum) : last;
    __syncthreads();
  }
  if (thread == 0) *total = last;
}

void run(const SampleBegin::Args<float>& x) {
  cuda::Scratch scratch(sizeof(int32_t));
  cuda::launch(scan, dim3(1), dim3(kThreads), 0, x, scratch.as<int32_t>());
  if (x.shape.padded && x.shape.rays > 0)
    cuda::launch(share_rest, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x,
                 scratch.as<int32_t>());
}

KLAB_VARIANT(SampleBegin, {.run = run, .parent = "01_one_thread", .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
