// frequency_bwd.cuda.02_vectorized: four positions a thread, one reduction for sine and cosine.
//
// CHANGE    a thread has four positions; rows are read 16 bytes at a time; sine and cosine share the reduction of
//           their argument and come from two polynomials.
// EXPECT    near read bandwidth, at least 1.5 times faster than the parent.
// NUMERICS  2^k·x modulo 2 is exact; sine and cosine within 2u of 1. Octaves in order.
// NEEDS     rows that begin at multiples of 16 bytes for four at once; a thread takes one position otherwise.
// SASS      LDG.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/frequency_bwd/frequency_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/common/encoding/02_vectorized-inl.h"

#include "kernels/common/encoding/02_vectorized_turns-inl.h"

template <int kVector>
__global__ void __launch_bounds__(kThreads)
    backward(int64_t n, int64_t dim, int octaves, const float* __restrict__ positions,
             const float* __restrict__ d_features, float* __restrict__ d_positions) {
  const int64_t at = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (at >= n * dim) return;
  float x[kVector], sum[kVector] = {};
  load(positions + at, x);
  const float* row = d_features + at / n * octaves * 2 * n + at % n;  // n is a multiple of kVector
  float scale = 3.14159265358979F;
  for (int k = 0; k < octaves; ++k, row += 2 * n, scale += scale) {
    float d_sin[kVector], d_cos[kVector];
    load(row, d_sin);
    load(row + n, d_cos);
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      float sin, cos;
      sincos_pi(x[v], sin, cos);
      sum[v] += scale * (d_sin[v] * cos - d_cos[v] * sin);
      x[v] += x[v];
    }
  }
  store(d_positions + at, sum);
}

void run(const FrequencyBwd::Args<float>& x) {
  const auto [n, dim, octaves] = x.shape;
  if (n == 0) return;
  const bool four =
      n % 4 == 0 && cuda::aligned(x.positions) && cuda::aligned(x.d_features) && cuda::aligned(x.d_positions);
  const int64_t threads = n * dim / (four ? 4 : 1);
  cuda::launch(four ? backward<4> : backward<1>, dim3(unsigned((threads + kThreads - 1) / kThreads)),
               dim3(kThreads), 0, n, dim, int(octaves), x.positions, x.d_features, x.d_positions);
}

KLAB_VARIANT(FrequencyBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "02_vectorized",
                            .tiles = {4, 4 * kThreads},
                            .expect = {.shape = {1 << 18, 3, 10}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
