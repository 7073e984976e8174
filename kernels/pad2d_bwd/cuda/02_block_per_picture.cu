// pad2d_bwd.cuda.02_block_per_picture: a block knows its picture, as in the forward.
//
// CHANGE    a block has a picture, and its warps have rows of d_x. It sums the border of a mean itself; the places of a row
//           are listed once a warp.
// EXPECT    the border's gradients are read by 256 threads in place of one, and the middle once in place of twice. Nothing is
//           divided. At least 3 times with a mean; with few pictures most multiprocessors idle.
// NUMERICS  the border of a mean is 256 strided sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/copies.h"
#include "reference/pad2d_bwd/pad2d_bwd.h"

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

/// Returns this thread's part of the sum over the border: rows above and below by all threads, sides by the warps of their rows.
__device__ float part_of_border(const PadShape& s, const float* __restrict__ d_y) {
  const int lane = int(threadIdx.x) % kLanes, warp = int(threadIdx.x) / kLanes;
  const int64_t above = s.pad_y * s.ow(), below = (s.pad_y + s.h) * s.ow();
  float sum = 0;
  for (int64_t k = threadIdx.x; k < above; k += kThreads) sum += d_y[k] + d_y[below + k];
  for (int64_t row = warp; row < s.h; row += kWarps) {
    const float* from = d_y + (s.pad_y + row) * s.ow();
    for (int64_t k = lane; k < s.pad_x; k += kLanes) sum += from[k] + from[s.pad_x + s.w + k];
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    collect(PadShape s, const float* __restrict__ d_y, float* __restrict__ d_x) {
  const int64_t plane = blockIdx.x;
  const int lane = int(threadIdx.x) % kLanes, warp = int(threadIdx.x) / kLanes;
  const float* from = d_y + plane * s.oh() * s.ow();
  float share = 0;
  if (s.kind == PadShape::mean) share = sum_of_block(part_of_border(s, from)) / float(s.h * s.w);
  for (int64_t row = warp; row < s.h; row += kWarps) {
    const PadCopies of_row = pad_copies(s, row, s.h, s.pad_y);
    for (int64_t column = lane; column < s.w; column += kLanes) {
      const PadCopies of_column = pad_copies(s, column, s.w, s.pad_x);
      float sum = 0;
      each_pad_copy(of_row, row, [&](int64_t i) {
        each_pad_copy(of_column, column,
                      [&](int64_t j) { sum += from[(i + s.pad_y) * s.ow() + j + s.pad_x]; });
      });
      d_x[(plane * s.h + row) * s.w + column] = sum + share;
    }
  }
}

void run(const Pad2dBwd::Args<float>& x) {
  if (x.shape.planes == 0) return;
  cuda::launch(collect, unsigned(x.shape.planes), kThreads, 0, x.shape, x.d_y, x.d_x);
}

KLAB_VARIANT(Pad2dBwd, {.run = run,
                        .parent = "01_naive",
                        .forward = "02_block_per_picture",
                        .tiles = {kLanes, kWarps},
                        .expect = {.shape = {512, 56, 56, 1, 1, 4}, .over_parent = 3}});

}  // namespace
}  // namespace klab
