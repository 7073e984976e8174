// Multiplies the columns of a vendor's product, for libraries that take no scale a column.
#pragma once

#include "kernels/common/cuda.h"

namespace klab {
namespace {

constexpr int kScaleThreads = 256;

/// c[i,j] = scale[j] · sums[i,j], four neighbors a thread; `sums` may be c.
template <class Sum>
__global__ void __launch_bounds__(kScaleThreads)
    multiply_columns(const Sum* sums, const float* __restrict__ scale, float* c, int64_t fours,
                     unsigned across) {
  struct alignas(16) Four {
    Sum value[4];
  };
  const unsigned row = blockIdx.x / across, four = blockIdx.x % across * kScaleThreads + threadIdx.x;
  if (four >= fours) return;
  const Four from = reinterpret_cast<const Four*>(sums)[row * fours + four];
  const float4 by = reinterpret_cast<const float4*>(scale)[four];
  reinterpret_cast<float4*>(c)[row * fours + four] =
      make_float4(float(from.value[0]) * by.x, float(from.value[1]) * by.y, float(from.value[2]) * by.z,
                  float(from.value[3]) * by.w);
}

/// Sizes are 1 or more, n is a multiple of 4, and matrices and scales begin at multiples of 16 bytes.
template <class Sum>
void scale_columns(const Sum* sums, const float* scale, float* c, int64_t m, int64_t n) {
  const int64_t fours = n / 4, across = (fours + kScaleThreads - 1) / kScaleThreads;
  cuda::launch(multiply_columns<Sum>, dim3(unsigned(m * across)), dim3(kScaleThreads), 0, sums, scale, c,
               fours, unsigned(across));
}

}  // namespace
}  // namespace klab
