// pad2d_fwd.cuda.02_block_per_picture: a block knows its picture.
//
// CHANGE    a block has a picture, and its warps have rows. The mean is the block's own: all threads add up, with neighbors
//           side by side, and no launch and no memory lies between mean and border.
// EXPECT    the mean's reads are whole sectors by 256 threads a picture in place of one; the source of a row is found once a warp,
//           and nothing is divided. At least 3 times with a mean; with few pictures most multiprocessors idle.
// NUMERICS  a mean is 256 strided sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {
namespace {

constexpr int kLanes = 32, kWarps = 8, kThreads = kLanes * kWarps;

/// Returns the sum over the block, in all threads.
__device__ float sum_of_block(float value) {
  __shared__ float sums[kWarps];
  const int lane = int(threadIdx.x) % kLanes, warp = int(threadIdx.x) / kLanes;
  for (int by = kLanes / 2; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < kWarps; ++k) sum += sums[k];
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    pad(PadShape s, const float* __restrict__ x, float* __restrict__ y) {
  const int64_t plane = blockIdx.x;
  const int lane = int(threadIdx.x) % kLanes, warp = int(threadIdx.x) / kLanes;
  const float* picture = x + plane * s.h * s.w;
  float border = 0;
  if (s.kind == PadShape::mean) {
    float sum = 0;
    for (int64_t k = threadIdx.x; k < s.h * s.w; k += kThreads) sum += picture[k];
    border = sum_of_block(sum) / float(s.h * s.w);
  }
  const bool copies = s.copies();
  for (int64_t i = warp; i < s.oh(); i += kWarps) {
    const int64_t row = i - s.pad_y;
    const bool shown = s.inside(row, 0) || copies;
    const float* from = shown ? picture + s.source(row, s.h) * s.w : picture;
    float* to = y + (plane * s.oh() + i) * s.ow();
    for (int64_t j = lane; j < s.ow(); j += kLanes) {
      const int64_t column = j - s.pad_x;
      to[j] = shown && (s.inside(0, column) || copies) ? from[s.source(column, s.w)] : border;
    }
  }
}

void run(const Pad2dFwd::Args<float>& x) {
  if (x.shape.planes == 0) return;
  cuda::launch(pad, unsigned(x.shape.planes), kThreads, 0, x.shape, x.x, x.y);
}

KLAB_VARIANT(Pad2dFwd, {.run = run,
                        .parent = "01_naive",
                        .tiles = {kLanes, kWarps},
                        .expect = {.shape = {512, 56, 56, 1, 1, 4}, .over_parent = 3}});

}  // namespace
}  // namespace klab
