// matmul_fp8.cuda.02_mma_sync: tensor cores for e4m3.
//
// CHANGE    a block brings tiles of 64 x 64 bytes of A and B to shared memory, B turned, so that four
//           neighbors along k are a word; each of its four warps multiplies 16 x 32 by 32 x 8 bytes with one
//           mma.sync m16n8k32. Sums of 128 depths are kept apart and added to the others in float.
// EXPECT    4096 multiply-adds an instruction of a warp, and a byte of A or B requested once for 64 results:
//           at least ten times the parent.
// NUMERICS  products are exact. In which order an instruction adds its 32 products and the sum before is not
//           specified; Hopper has been measured to keep some 14 bits in it (reference in the contract), so
//           that errors grow with the number of instructions: hence the sums of 128 depths apart. Declared
//           with 11 bits. The executor adds exactly and rounds once.
// NEEDS     compute capability 8.9; 9 KB of shared memory.
// TRIED     see NOTES.md, cuda.02_mma_sync
// SASS      HMMA; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/matmul/byte_tiles.h"
#include "kernels/common/mma.h"
#include "reference/matmul_fp8/matmul_fp8.h"

namespace klab {
namespace {

constexpr int64_t kTogether = 128;  // depths whose sums only the tensor core adds up
constexpr int kTile = ByteTiles::kTile, kDepth = ByteTiles::kDepth, kThreads = 128,
              kWarpSide = ByteWarp::kSide;
constexpr int kRows = ByteWarp::kRows, kColumns = ByteWarp::kColumns, kDown = ByteWarp::kDown,
              kAcross = ByteWarp::kAcross;

struct Mma {
  __device__ __forceinline__ void operator()(float (&sum)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2]) const {
    cuda::mma_m16n8k32_e4m3(sum, a, b, sum);
  }
};

__global__ void __launch_bounds__(kThreads)
    multiply(const uint8_t* __restrict__ a, const uint8_t* __restrict__ b, const float* __restrict__ scale,
             float* __restrict__ c, int64_t m, int64_t n, int64_t k, bool whole) {
  __shared__ ByteTiles tiles;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, group = lane / 4, in = lane % 4;
  const int row = warp / 2 * kWarpSide, column = warp % 2 * kWarpSide;
  float sums[kDown][kAcross][4] = {}, parts[kDown][kAcross][4] = {};
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    bring<kThreads>(tiles, a, b, m, n, k, i0, j0, p0, whole);
    __syncthreads();
    multiply_tiles(parts, tiles, row, column, Mma());
    __syncthreads();
    if ((p0 + kDepth) % kTogether != 0 && p0 + kDepth < k) continue;
#pragma unroll
    for (int e = 0; e < kDown * kAcross * 4; ++e) {
      float& part = parts[e / (kAcross * 4)][e / 4 % kAcross][e % 4];
      sums[e / (kAcross * 4)][e / 4 % kAcross][e % 4] += part;
      part = 0;
    }
  }
#pragma unroll
  for (int r = 0; r < kDown; ++r)
#pragma unroll
    for (int s = 0; s < kAcross; ++s)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int64_t i = i0 + row + r * kRows + group + e / 2 * 8,
                      j = j0 + column + s * kColumns + 2 * in + e % 2;
        if (i < m && j < n) c[i * n + j] = sums[r][s][e] * scale[j];
      }
}

void run(const MatmulFp8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  const bool whole = k % 4 == 0 && reinterpret_cast<uintptr_t>(x.a) % 4 == 0;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kThreads), 0, x.a, x.b, x.scale, x.c, m, n, k,
               whole);
}

KLAB_VARIANT(MatmulFp8,
             {.run = run,
              .parent = "01_naive",
              .numerics = {.unit = Unit::f16},
              .tiles = {kColumns, kRows, kDepth, kTile, kTogether},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 5},
              .supported = [](const MatmulFp8::Shape&, const Host& host) { return cuda::needs(host, 89); }});

}  // namespace
}  // namespace klab
