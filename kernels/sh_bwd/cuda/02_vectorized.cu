// sh_bwd.cuda.02_vectorized: a thread has four directions, shared products, and 16-byte accesses.
//
// CHANGE    four directions per thread: all 16 rows of the gradient are loaded by 16 bytes before the first
//           is used; functions whose derivatives share a polynomial are taken together.
// EXPECT    16 loads of 16 bytes in flight a thread instead of one of 4: near read bandwidth, at least 1.3
//           times faster than the parent beyond the caches.
// NUMERICS  other roundings: sums of gradients times a shared polynomial.
// NEEDS     rows that begin at multiples of 16 bytes for four at once; a thread takes one direction
//           otherwise.
// SASS      LDG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sh_bwd/sh_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr int kFunctions = 16;

#include "kernels/common/encoding/02_vectorized-inl.h"

/// Gradient of one direction from those of its functions, 0 where there is none.
__device__ __forceinline__ float3 gradient(float x, float y, float z, const float (&g)[kFunctions]) {
  const float xy = x * y, yz = y * z, xz = x * z, zz = z * z;
  const float across = y * y - x * x, ring = 0.45704579946446577F - 2.2852289973223288F * zz;
  const float g4 = 1.0925484305920790F * g[4], g5 = -1.0925484305920790F * g[5];
  const float g7 = -1.0925484305920790F * g[7], g8 = 1.0925484305920790F * g[8];
  const float g9 = 1.7701307697799305F * g[9], g15 = 1.7701307697799305F * g[15];
  const float g10 = 2.8906114426405540F * g[10], g14 = 2.8906114426405540F * g[14];
  float dx = -0.48860251190291992F * g[3] + g8 * x + g7 * z + g4 * y;
  float dy = -0.48860251190291992F * g[1] + g5 * z - g8 * y + g4 * x;
  float dz = 0.48860251190291992F * g[2] + 1.8923493915151199F * g[6] * z + g7 * x + g5 * y;
  dx += g[13] * ring + g15 * across - g9 * 2 * xy + g14 * xz + g10 * yz;
  dy += g[11] * ring + g15 * 2 * xy + g9 * across - g14 * yz + g10 * xz;
  dz += g10 * xy - 0.5F * g14 * across - 4.5704579946446577F * (g[11] * yz + g[13] * xz) +
        g[12] * (5.5976449888517312F * zz - 1.1195289977703462F);
  return make_float3(dx, dy, dz);
}

template <int kVector>
__global__ void __launch_bounds__(kThreads)
    backward(int64_t n, int functions, const float* __restrict__ directions,
             const float* __restrict__ d_basis, float* __restrict__ d_directions) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (i >= n) return;
  float x[kVector], y[kVector], z[kVector], g[kVector][kFunctions] = {};
  load(directions + i, x);
  load(directions + n + i, y);
  load(directions + 2 * n + i, z);
#pragma unroll
  for (int k = 0; k < kFunctions; ++k) {
    if (k >= functions) break;
    float row[kVector];
    load(d_basis + k * n + i, row);
#pragma unroll
    for (int v = 0; v < kVector; ++v) g[v][k] = row[v];
  }
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
    const float3 d = gradient(x[v], y[v], z[v], g[v]);
    x[v] = d.x, y[v] = d.y, z[v] = d.z;
  }
  store(d_directions + i, x);
  store(d_directions + n + i, y);
  store(d_directions + 2 * n + i, z);
}

void run(const ShBwd::Args<float>& x) {
  const auto [n, degree] = x.shape;
  if (n == 0) return;
  const bool four =
      n % 4 == 0 && cuda::aligned(x.directions) && cuda::aligned(x.d_basis) && cuda::aligned(x.d_directions);
  const int64_t threads = four ? n / 4 : n;
  cuda::launch(four ? backward<4> : backward<1>, dim3(unsigned((threads + kThreads - 1) / kThreads)),
               dim3(kThreads), 0, n, int(degree * degree), x.directions, x.d_basis, x.d_directions);
}

KLAB_VARIANT(ShBwd, {.run = run,
                     .parent = "01_naive",
                     .forward = "02_vectorized",
                     .tiles = {4, 4 * kThreads},
                     .expect = {.shape = {1 << 22, 4}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
