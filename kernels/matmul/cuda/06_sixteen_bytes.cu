// matmul.cuda.06_sixteen_bytes: 16 bytes an access, A turned round on its way to shared memory.
//
// CHANGE    global and shared memory are read four floats at a time. For that the 8 floats of A that a thread
//           wants must be neighbors: the tile of A is stored with rows along the lines, padded by 4 floats.
//           A thread's 8 columns are two groups of 4 that lie 64 apart.
// EXPECT    4 requests for 64 multiply-adds in place of 16, and no conflicts left: 8 lanes that read 16 bytes
//           each cover the banks once, and the turned stores of A go to 32 different banks, since 4·132 words
//           are 16 banks. Near the point where multiply-adds are the limit; at least 1.4 times the parent.
// NUMERICS  as the parent.
// NEEDS     k and n that are multiples of 4 and matrices that begin on 16 bytes for the fast path; others go
//           one float at a time.
// TRIED     see NOTES.md, cuda.06_sixteen_bytes
// SASS      LDG.128 STS.128 LDS.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 8;
constexpr int kOwn = 8;  // rows and columns of a thread
constexpr int kThreads = (kTile / kOwn) * (kTile / kOwn);
constexpr int kPadded = kTile + 4;
static_assert(kTile * kDepth == 4 * kThreads, "a thread fetches four floats of each tile");

/// Four neighbors of a row, zeros from `count` on. `whole`: rows begin on 16 bytes.
template <bool whole>
__device__ __forceinline__ float4 fetch(const float* p, int64_t count) {
  if (count <= 0) return make_float4(0, 0, 0, 0);
  if constexpr (whole) return *reinterpret_cast<const float4*>(p);
  return make_float4(p[0], count > 1 ? p[1] : 0, count > 2 ? p[2] : 0, count > 3 ? p[3] : 0);
}

template <bool whole>
__global__ void __launch_bounds__(kThreads) multiply(const float* __restrict__ a, const float* __restrict__ b,
                                                     float* __restrict__ c, int64_t m, int64_t n, int64_t k) {
  __shared__ __align__(16) float tile_a[kDepth][kPadded];  // [p][row]
  __shared__ __align__(16) float tile_b[kDepth][kTile];    // [p][column]
  const int t = threadIdx.x;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int a_row = t / (kDepth / 4), a_p = t % (kDepth / 4) * 4;
  const int b_p = t / (kTile / 4), b_column = t % (kTile / 4) * 4;
  const int row = t / (kTile / kOwn) * kOwn, column = t % (kTile / kOwn) * 4;  // and column + 64
  float sum[kOwn][kOwn] = {};
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    const float4 four = fetch<whole>(a + (i0 + a_row) * k + p0 + a_p, i0 + a_row < m ? k - p0 - a_p : 0);
    tile_a[a_p][a_row] = four.x;
    tile_a[a_p + 1][a_row] = four.y;
    tile_a[a_p + 2][a_row] = four.z;
    tile_a[a_p + 3][a_row] = four.w;
    *reinterpret_cast<float4*>(&tile_b[b_p][b_column]) =
        fetch<whole>(b + (p0 + b_p) * n + j0 + b_column, p0 + b_p < k ? n - j0 - b_column : 0);
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; ++p) {
      const float4 a0 = *reinterpret_cast<const float4*>(&tile_a[p][row]);
      const float4 a1 = *reinterpret_cast<const float4*>(&tile_a[p][row + 4]);
      const float4 b0 = *reinterpret_cast<const float4*>(&tile_b[p][column]);
      const float4 b1 = *reinterpret_cast<const float4*>(&tile_b[p][column + kTile / 2]);
      const float of_a[kOwn] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float of_b[kOwn] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int r = 0; r < kOwn; ++r)
#pragma unroll
        for (int s = 0; s < kOwn; ++s) sum[r][s] += of_a[r] * of_b[s];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    if (i0 + row + r >= m) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t j = j0 + column + half * kTile / 2;
      float* to = c + (i0 + row + r) * n + j;
      const float* from = sum[r] + 4 * half;
      if (whole && j < n) *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
      for (int s = 0; !whole && s < 4; ++s)
        if (j + s < n) to[s] = from[s];
    }
  }
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  const bool whole =
      n % 4 == 0 && k % 4 == 0 && cuda::aligned(x.a) && cuda::aligned(x.b) && cuda::aligned(x.c);
  cuda::launch(whole ? multiply<true> : multiply<false>, dim3(unsigned(down * across)), dim3(kThreads), 0,
               x.a, x.b, x.c, m, n, k);
}

KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "05_register_tile_2d",
                      .tiles = {4, kDepth, kTile},
                      .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.4}});

}  // namespace
}  // namespace klab
