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

/// kVector floats from p on by one access.
template <int kVector>
__device__ __forceinline__ void load(const float* __restrict__ p, float (&v)[kVector]) {
  if constexpr (kVector == 4) {
    const float4 four = *reinterpret_cast<const float4*>(p);
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
  } else {
    v[0] = *p;
  }
}

template <int kVector>
__device__ __forceinline__ void store(float* __restrict__ p, const float (&v)[kVector]) {
  if constexpr (kVector == 4) {
    *reinterpret_cast<float4*>(p) = make_float4(v[0], v[1], v[2], v[3]);
  } else {
    *p = v[0];
  }
}

/// sin(pi·x) and cos(pi·x): x modulo 2 and the nearest quarter turn are exact, polynomials of the rest (found by
/// Remez' exchange for |r| <= 1/4), within 2u of 1.
__device__ __forceinline__ void sincos_pi(float x, float& sin, float& cos) {
  const float turn = fmaf(-2, rintf(0.5F * x), x);  // in [-1, 1]
  const float quarters = rintf(turn + turn);        // -2 .. 2
  const float r = fmaf(-0.5F, quarters, turn);      // in [-1/4, 1/4]
  const float z = r * r;
  float p = fmaf(-0.58899582162F, z, 2.54975975414F);
  p = fmaf(fmaf(p, z, -5.1677076572F), z, 3.14159264335F) * r;
  float q = fmaf(0.231357817787F, z, -1.33504987648F);
  q = fmaf(fmaf(fmaf(q, z, 4.05870759331F), z, -4.93480217019F), z, 1);
  // One quarter turn makes (sin, cos) into (cos, -sin); two change both signs.
  const int turns = int(quarters);
  const float s = turns & 1 ? q : p, c = turns & 1 ? p : q;
  sin = turns & 2 ? -s : s;
  cos = (turns + 1) & 2 ? -c : c;
}

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
