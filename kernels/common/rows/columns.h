// Sums of columns in two steps: blocks of some columns and rows leave partial sums, [parts][c], and many threads a column join these. For CUDA rungs whose
// parameters have gradients.
#pragma once

#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/device.h"

namespace klab::rows {
namespace {

constexpr int kJoinThreads = 1024;
constexpr int kTileThreads = 256, kTileWarps = kTileThreads / 32;

/// A block's 32·kEach columns of `each` rows: a lane has kEach columns, warp w every kTileWarps-th row from begin + w on.
template <int kEach>
struct Tile {
  int lane, warp;
  int64_t j;           // the lane's first column, found in 32 bits: nvcc would split stores of 16 bytes
  int64_t begin, end;  // the block's rows, none where the lane's column does not exist
  __device__ __forceinline__ Tile(int64_t n, int64_t each, int64_t c)
      : lane(int(threadIdx.x) % 32),
        warp(int(threadIdx.x) / 32),
        j((blockIdx.x * 32 + threadIdx.x % 32) * kEach),
        begin(blockIdx.y * each),
        end(j < c ? min(begin + each, n) : begin) {}
};

/// Adds up the sums of a block's warps, and writes them for the block's columns. `part` is shared.
template <int kEach>
__device__ __forceinline__ void store_sums(const Tile<kEach>& tile, Pack<kEach> sum,
                                           Pack<kEach> (&part)[kTileWarps][32], int64_t c, float* to) {
  part[tile.warp][tile.lane] = sum;
  __syncthreads();
  if (tile.warp > 0 || tile.j >= c) return;
  for (int w = 1; w < kTileWarps; ++w)
    for (int e = 0; e < kEach; ++e) sum.v[e] += part[w][tile.lane].v[e];
  store<kEach>(to + tile.j, sum);
}

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
