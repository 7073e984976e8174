// sh_fwd.cuda.02_vectorized: a thread has four directions, all their functions, and 16-byte accesses.
//
// CHANGE    a thread reads four directions by three loads of 16 bytes and writes each function of all four by one
//           store; squares and pairs are computed once.
// EXPECT    directions are read once; 19 requests for 128 directions instead of 64 for 32. Near copy bandwidth, at
//           least 1.5 times faster than the parent.
// NUMERICS  other roundings: 1 - 5z^2 and its like are taken before the factor.
// NEEDS     rows that begin at multiples of 16 bytes for four at once; a thread takes one direction otherwise.
// SASS      STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr int kFunctions = 16;

#include "kernels/common/encoding/02_vectorized-inl.h"

__device__ __forceinline__ void basis(float x, float y, float z, float (&b)[kFunctions]) {
  const float xy = x * y, yz = y * z, xz = x * z, xx = x * x, yy = y * y, zz = z * z;
  const float ring = 0.45704579946446577F - 2.2852289973223288F * zz;
  b[0] = 0.28209479177387814F;
  b[1] = -0.48860251190291992F * y;
  b[2] = 0.48860251190291992F * z;
  b[3] = -0.48860251190291992F * x;
  b[4] = 1.0925484305920790F * xy;
  b[5] = -1.0925484305920790F * yz;
  b[6] = 0.94617469575755997F * zz - 0.31539156525252001F;
  b[7] = -1.0925484305920790F * xz;
  b[8] = 0.54627421529603948F * (xx - yy);
  b[9] = 0.59004358992664352F * y * (yy - 3 * xx);
  b[10] = 2.8906114426405540F * xy * z;
  b[11] = ring * y;
  b[12] = z * (1.8658816629505769F * zz - 1.1195289977703462F);
  b[13] = ring * x;
  b[14] = 1.4453057213202770F * z * (xx - yy);
  b[15] = 0.59004358992664352F * x * (3 * yy - xx);
}

template <int kVector>
__global__ void __launch_bounds__(kThreads)
    encode(int64_t n, int functions, const float* __restrict__ directions, float* __restrict__ out) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (i >= n) return;
  float x[kVector], y[kVector], z[kVector];
  load(directions + i, x);
  load(directions + n + i, y);
  load(directions + 2 * n + i, z);
  float b[kVector][kFunctions];
#pragma unroll
  for (int v = 0; v < kVector; ++v) basis(x[v], y[v], z[v], b[v]);
#pragma unroll
  for (int k = 0; k < kFunctions; ++k) {
    if (k >= functions) break;
    float row[kVector];
#pragma unroll
    for (int v = 0; v < kVector; ++v) row[v] = b[v][k];
    store(out + k * n + i, row);
  }
}

void run(const ShFwd::Args<float>& x) {
  const auto [n, degree] = x.shape;
  if (n == 0) return;
  const bool four = n % 4 == 0 && cuda::aligned(x.directions) && cuda::aligned(x.basis);
  const int64_t threads = four ? n / 4 : n;
  cuda::launch(four ? encode<4> : encode<1>, dim3(unsigned((threads + kThreads - 1) / kThreads)),
               dim3(kThreads), 0, n, int(degree * degree), x.directions, x.basis);
}

KLAB_VARIANT(ShFwd, {.run = run,
                     .parent = "01_naive",
                     .tiles = {4, 4 * kThreads},
                     .expect = {.shape = {1 << 22, 4}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
