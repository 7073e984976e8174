// matmul.cuda.07_async_copies: the next tiles are in flight while these are used.
//
// CHANGE    two buffers for each tile, filled by asynchronous copies (cp.async) that pass no register. Before
//           a block works on one pair of tiles it copies the next pair, and waits for it only when it needs
//           it. One barrier per step in place of two.
// EXPECT    global memory's latency is hidden behind 8·64 multiply-adds per thread, which matters most where
//           few blocks are on a multiprocessor. A has to turn round on the way, and a copy moves contiguous
//           bytes: A goes 4 bytes at a time, B 16. At least 1.1 times the parent.
// NUMERICS  as the parent.
// NEEDS     compute capability 8.0; 16.4 KB of shared memory. n that is a multiple of 4 for copies of 16
//           bytes.
// SASS      LDGSTS.128 LDS.128 STG.128
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 8;
constexpr int kOwn = 8;  // rows and columns of a thread
constexpr int kThreads = (kTile / kOwn) * (kTile / kOwn);
#include "kernels/matmul/cuda/07_async_copies-inl.h"

template <bool whole>
__global__ void __launch_bounds__(kThreads, 2)
    multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t m,
             int64_t n, int64_t k) {
  __shared__ __align__(16) Tiles tiles[2];
  const int t = threadIdx.x;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int row = t / (kTile / kOwn) * kOwn, column = t % (kTile / kOwn) * 4;  // and column + 64
  float sum[kOwn][kOwn] = {};
  if (k > 0) copy_tiles<whole>(tiles[0], a, b, m, n, k, i0, j0, 0);
  int now = 0;
  for (int64_t p0 = 0; p0 < k; p0 += kDepth, now ^= 1) {
    cuda::copy_async_wait<0>();  // this thread's copies have landed ...
    __syncthreads();             // ... and all threads' copies; no thread uses the other buffer any more
    if (p0 + kDepth < k) copy_tiles<whole>(tiles[now ^ 1], a, b, m, n, k, i0, j0, p0 + kDepth);
#pragma unroll
    for (int p = 0; p < kDepth; ++p) {
      const float4 a0 = *reinterpret_cast<const float4*>(&tiles[now].a[p][row]);
      const float4 a1 = *reinterpret_cast<const float4*>(&tiles[now].a[p][row + 4]);
      const float4 b0 = *reinterpret_cast<const float4*>(&tiles[now].b[p][column]);
      const float4 b1 = *reinterpret_cast<const float4*>(&tiles[now].b[p][column + kTile / 2]);
      const float of_a[kOwn] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float of_b[kOwn] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int r = 0; r < kOwn; ++r)
#pragma unroll
        for (int s = 0; s < kOwn; ++s) sum[r][s] += of_a[r] * of_b[s];
    }
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
  const bool whole = n % 4 == 0 && cuda::aligned(x.b) && cuda::aligned(x.c);
  cuda::launch(whole ? multiply<true> : multiply<false>, dim3(unsigned(down * across)), dim3(kThreads), 0,
               x.a, x.b, x.c, m, n, k);
}

KLAB_VARIANT(Matmul,
             {.run = run,
              .parent = "06_sixteen_bytes",
              .tiles = {4, kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.1},
              .supported = [](const Matmul::Shape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
