// window_sum.cuda.03_shuffle: the window in registers.
//
// CHANGE    a warp makes 128 outputs, 32 at a time, from elements that lie in its lanes. Windows of up to 31
//           elements: two registers hold 64 elements, sums of 1, 2, 4, 8, 16 follow by doubling, and the
//           window slides by one load. Longer ones: the common part of the 32 windows is added up once, by
//           all lanes together, and a scan over lanes adds to it at either end.
// EXPECT    loads a warp of outputs fall from 2r+1 (of shared memory, and a little) to 1.25 for short windows
//           and about (2r + 34)/32 for long ones: 8 in place of 201 at r = 100. No shared memory, no barrier.
//           At least 3 times the parent there.
// NUMERICS  sums in tree order, of elements of the window alone: nothing is ever subtracted.
// TRIED     see NOTES.md, cuda.03_shuffle
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/window_sum/window_sum.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr int kSteps = 4;           // times 32 outputs a warp
constexpr int kWarp = 32 * kSteps;  // outputs
constexpr int kBlock = kThreads / 32 * kWarp;
constexpr int kShort = 15;  // radii whose windows fit two registers, whatever the lane
constexpr unsigned kAll = ~0U;

__device__ __forceinline__ float at(const float* x, int64_t n, int64_t j) {
  return j >= 0 && j < n ? x[j] : 0.0F;
}

/// Returns value lane + by, by < 32, of 64 values: lane k holds value k (a) and value 32 + k (b).
__device__ __forceinline__ float shifted(float a, float b, int by, int lane) {
  return __shfl_sync(kAll, lane < by ? b : a, (lane + by) % 32);
}

/// The sum of values lane .. lane + window - 1 of 64, window odd and at most 31.
__device__ __forceinline__ float sum_of_short(float a, float b, int window, int lane) {
  float sum = a;
  int gathered = 1;
  for (int length = 1; 2 * length <= window; length *= 2) {
    // Value i was the sum of `length` elements from i on, and will be of twice as many. The last values lack
    // elements to add and wrap around; no window asks for them.
    a += shifted(a, b, length, lane);
    b += shifted(b, b, length, lane);
    if ((window & 2 * length) == 0) continue;
    sum += shifted(a, b, gathered, lane);
    gathered += 2 * length;
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    short_windows(const float* __restrict__ x, float* __restrict__ y, int64_t n, int r) {
  const int lane = int(threadIdx.x) % 32;
  int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32 * kWarp + lane;
  float a = at(x, n, i - r);
  for (int step = 0; step < kSteps && i - lane < n; ++step, i += 32) {
    const float b = at(x, n, i - r + 32);
    const float sum = sum_of_short(a, b, 2 * r + 1, lane);
    if (i < n) y[i] = sum;
    a = b;
  }
}

__global__ void __launch_bounds__(kThreads)
    long_windows(const float* __restrict__ x, float* __restrict__ y, int64_t n, int64_t r) {
  const int lane = int(threadIdx.x) % 32;
  int64_t first = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32 * kWarp;
  for (int step = 0; step < kSteps && first < n; ++step, first += 32) {
    // Windows of outputs first .. first + 31:
    //   first-r ... first-r+30 [ first-r+31 ...... first+r ] first+r+1 ... first+r+31
    //     lane l: from l on          middle: all lanes             lane l: the first l
    float left = lane < 31 ? at(x, n, first - r + lane) : 0;
    float right = lane > 0 ? at(x, n, first + r + lane) : 0;
    for (int by = 1; by < 32; by *= 2) {
      const float behind = __shfl_down_sync(kAll, left, by), before = __shfl_up_sync(kAll, right, by);
      if (lane + by < 32) left += behind;
      if (lane >= by) right += before;
    }
    const int64_t end = min(first + r + 1, n);
    float middle = 0;
    for (int64_t j = max(first - r + 31, int64_t(0)) + lane; j < end; j += 32) middle += x[j];
    for (int by = 16; by > 0; by /= 2) middle += __shfl_xor_sync(kAll, middle, by);
    if (first + lane < n) y[first + lane] = left + middle + right;
  }
}

void run(const WindowSum::Args<float>& x) {
  const auto [n, radius] = x.shape;
  if (n == 0) return;
  const int64_t r = radius < n ? radius : n;  // beyond n, a window holds everything
  const auto blocks = unsigned((n + kBlock - 1) / kBlock);
  if (r <= kShort)
    cuda::launch(short_windows, blocks, kThreads, 0, x.x, x.y, n, int(r));
  else
    cuda::launch(long_windows, blocks, kThreads, 0, x.x, x.y, n, r);
}

KLAB_VARIANT(WindowSum, {.run = run,
                         .parent = "02_shared_tile",
                         .tiles = {31, 32, kWarp, kBlock},
                         .expect = {.shape = {1 << 22, 100}, .over_parent = 3}});

}  // namespace
}  // namespace klab
