// Three float matrices rounded to bfloat16 in one launch, padded to whole tiles, with counters cleared on the way.
#pragma once

#include <algorithm>

#include "kernels/common/cuda.h"

namespace klab {
namespace {

constexpr int kRoundingThreads = 256, kRounded = 8;  // elements of a thread

/// A matrix and its rounded copy [rows,stride], zeros beyond the edges; stride is a multiple of 8.
struct RoundedCopy {
  const float* from;
  __nv_bfloat16* to;
  int height, width, rows, stride;
};
struct RoundedCopies {
  RoundedCopy first, second, third;
  unsigned* counters;
  int count;
};

__global__ void __launch_bounds__(kRoundingThreads) round_copies(RoundedCopies copies) {
  const RoundedCopy m = blockIdx.y == 0 ? copies.first : blockIdx.y == 1 ? copies.second : copies.third;
  const int thread = int(blockIdx.x) * kRoundingThreads + int(threadIdx.x);
  if (blockIdx.y == 0)
    for (int k = thread; k < copies.count; k += int(gridDim.x) * kRoundingThreads) copies.counters[k] = 0;
  const int chunks = m.stride / kRounded;
  if (chunks == 0 || thread / chunks >= m.rows) return;
  const int i = thread / chunks, j = thread % chunks * kRounded;
  const float* const from = m.from + int64_t(i) * m.width + j;
  float v[kRounded];
  if (i < m.height && j + kRounded <= m.width && reinterpret_cast<uintptr_t>(from) % 16 == 0) {
    const float4 low = reinterpret_cast<const float4*>(from)[0],
                 high = reinterpret_cast<const float4*>(from)[1];
    v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
    v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
  } else {
#pragma unroll
    for (int e = 0; e < kRounded; ++e) v[e] = i < m.height && j + e < m.width ? from[e] : 0;
  }
  union {
    __nv_bfloat162 pairs[kRounded / 2];
    uint4 bytes;
  } rounded;
#pragma unroll
  for (int e = 0; e < kRounded / 2; ++e) rounded.pairs[e] = __floats2bfloat162_rn(v[2 * e], v[2 * e + 1]);
  *reinterpret_cast<uint4*>(m.to + int64_t(i) * m.stride + j) = rounded.bytes;
}

inline void round_matrices(const RoundedCopies& copies) {
  int64_t most = 0;
  for (const RoundedCopy* m : {&copies.first, &copies.second, &copies.third})
    most = std::max(most, int64_t(m->rows) * m->stride);
  const int64_t each = kRoundingThreads * kRounded;
  if (most > 0)
    cuda::launch(round_copies, dim3(unsigned((most + each - 1) / each), 3), kRoundingThreads, 0, copies);
}

}  // namespace
}  // namespace klab
