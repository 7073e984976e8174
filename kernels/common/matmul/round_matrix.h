// Copies of float matrices rounded to bfloat16 and padded to whole tiles, for the products of matmul and matmul_bwd on tensor
// cores.
#pragma once

#include "kernels/common/cuda.h"

namespace klab {
namespace {

constexpr int kRoundThreads = 256;

/// Rounds [height, width] into [.., stride], zeros beyond the edges.
__global__ void __launch_bounds__(kRoundThreads)
    round_to_bfloat16(const float* __restrict__ from, int64_t height, int64_t width, int64_t stride,
                      int64_t total, __nv_bfloat16* __restrict__ to) {
  const int64_t at = (int64_t(blockIdx.x) * kRoundThreads + threadIdx.x) * 2;
  if (at >= total) return;
  const int64_t i = at / stride, j = at % stride;
  const float* p = from + i * width + j;
  const float low = i < height && j < width ? p[0] : 0, high = i < height && j + 1 < width ? p[1] : 0;
  *reinterpret_cast<__nv_bfloat162*>(to + at) = __floats2bfloat162_rn(low, high);
}

inline int64_t padded(int64_t size, int64_t to) { return (size + to - 1) / to * to; }

/// The copy is [rows, stride], both even.
inline void round_matrix(const float* from, int64_t height, int64_t width, int64_t rows, int64_t stride,
                         __nv_bfloat16* to) {
  const int64_t total = rows * stride, blocks = (total / 2 + kRoundThreads - 1) / kRoundThreads;
  if (total == 0) return;
  cuda::launch(round_to_bfloat16, dim3(unsigned(blocks)), dim3(kRoundThreads), 0, from, height, width, stride,
               total, to);
}

}  // namespace
}  // namespace klab
