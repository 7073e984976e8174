// Mean and squares of a part of a row, merged in any order. For CUDA rungs that normalize.
#pragma once

#include "kernels/common/rows/device.h"

namespace klab::rows {

/// Count, mean, and sum of squares about the mean.
struct Moments {
  float count, mean, squares;
  static __device__ __forceinline__ Moments none() { return {0, 0, 0}; }
  __device__ __forceinline__ Moments with(Moments b) const {
    const float all = count + b.count, d = b.mean - mean, share = all > 0 ? b.count / all : 0;
    return {all, mean + d * share, squares + b.squares + d * d * count * share};
  }
  __device__ __forceinline__ Moments across(int by) const {
    return {__shfl_xor_sync(~0U, count, by), __shfl_xor_sync(~0U, mean, by),
            __shfl_xor_sync(~0U, squares, by)};
  }
};

/// Returns the moments of what this thread has of part `part` of `parts` of a row.
template <int kEach>
__device__ __forceinline__ Moments read_moments(const float* __restrict__ row, int c, int part, int parts) {
  const int block = int(blockDim.x), packs = c / kEach;
  Moments own = Moments::none();
  for (int k = part * kBatch * block + int(threadIdx.x); k < packs; k += parts * kBatch * block) {
    const Batch<kEach> batch(row, k, block, packs);
    Moments m{float(batch.each * kEach), 0, 0};
    for (const auto& pack : batch.v)
      for (const float x : pack.v) m.mean += x;
    m.mean /= m.count;
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      for (const float x : batch.v[b].v) m.squares += b < batch.each ? (x - m.mean) * (x - m.mean) : 0;
    own = own.with(m);
  }
  return own;
}

}  // namespace klab::rows
