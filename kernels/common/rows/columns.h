// Column sums in two steps: blocks leave partial sums, [parts][c], and many threads a column join these. For CUDA rungs whose
// parameters have gradients.
#pragma once

#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"

namespace klab::rows {
namespace {

constexpr int kJoinThreads = 1024;

/// Block (b, k) has 32 columns of the k-th of two arrays; 32 warps take every 32nd part, and what they have meets in shared
/// memory.
__global__ void __launch_bounds__(kJoinThreads)
    join_columns(int64_t parts, int64_t c, const float* __restrict__ partial, float* __restrict__ first,
                 float* __restrict__ second) {
  __shared__ float of_warp[32][33];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t j = int64_t(blockIdx.x) * 32 + lane;
  const float* from = partial + blockIdx.y * parts * c;
  float sum = 0;
#pragma unroll 4
  for (int64_t p = warp; p < parts; p += 32) sum += j < c ? from[p * c + j] : 0;
  of_warp[warp][lane] = sum;
  __syncthreads();
  sum = of_warp[lane][warp];  // the column of lane `warp`
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0U, sum, by);
  const int64_t column = int64_t(blockIdx.x) * 32 + warp;
  if (lane == 0 && column < c) (blockIdx.y == 0 ? first : second)[column] = sum;
}

/// Adds up partial sums of one or, if `second` is not null, two arrays: [2][parts][c].
inline void launch_join(int64_t parts, int64_t c, const float* partial, float* first, float* second) {
  cuda::launch(join_columns, dim3(blocks_of(c, 32), second == nullptr ? 1 : 2), dim3(kJoinThreads), 0, parts,
               c, partial, first, second);
}

}  // namespace
}  // namespace klab::rows
