// Maximum and sum of exponentials of a part of a row, as pairs that join in any order. For the CUDA rungs of softmax_xent_fwd
// and softmax_xent_bwd.
#pragma once

#include "kernels/common/rows/device.h"

namespace klab::rows {

/// Statistics of a part of a row. An empty pair begins at the lowest finite float: minus infinity less itself
/// would be NaN.
struct Pair {
  float largest;
  float sum;  // of exp(x - largest)
  static __device__ __forceinline__ Pair none() { return {-3.402823466e38F, 0}; }
  __device__ __forceinline__ Pair with(Pair b) const {
    const float m = fmaxf(largest, b.largest);
    return {m, sum * __expf(largest - m) + b.sum * __expf(b.largest - m)};
  }
  __device__ __forceinline__ Pair across(int by) const {
    return {__shfl_xor_sync(~0U, largest, by), __shfl_xor_sync(~0U, sum, by)};
  }
};

/// Returns the pair of what this thread has of part `part` of `parts` of a row: kBatch loads of 16 bytes in flight, one scaling
/// of the sum for each batch.
__device__ __forceinline__ Pair read_pair(const float* __restrict__ row, const Cut& cut, int c, int part,
                                          int parts) {
  const int t = int(threadIdx.x), block = int(blockDim.x);
  Pair own = Pair::none();
#pragma unroll 1
  for (int j = part * block + t; j < cut.head; j += parts * block) own = own.with({row[j], 1});
  if (part == 0 && cut.tail + t < c) own = own.with({row[cut.tail + t], 1});
  for (int k = part * kBatch * block + t; k < cut.fours; k += parts * kBatch * block) {
    Pack<4> v[kBatch] = {};
    float largest = own.largest, sum = 0;
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      if (k + b * block < cut.fours) v[b] = load<4>(row + cut.head + 4 * (k + b * block));
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      for (const float x : v[b].v) largest = k + b * block < cut.fours ? fmaxf(largest, x) : largest;
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      for (const float x : v[b].v) sum += k + b * block < cut.fours ? __expf(x - largest) : 0;
    own = {largest, own.sum * __expf(own.largest - largest) + sum};
  }
  return own;
}

}  // namespace klab::rows
