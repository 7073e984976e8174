// matmul_int8.cuda.03_mma_sync: tensor cores for bytes.
//
// CHANGE    mma.sync m16n8k32: a warp multiplies 16 x 32 by 32 x 8 bytes in one instruction. Each of four warps has 32 x 32 of
//           the block's 64 x 64. A lane's registers are whole words of the tiles, as the parent has them: no ldmatrix needed.
// EXPECT    4096 multiply-adds an instruction of a warp, where 32 lanes of the parent's do 128: fetching binds. Twice the
//           parent.
// NUMERICS  exact sums in 32 bits; a conversion and a product.
// NEEDS     compute capability 8.0; 9 KB of shared memory.
// SASS      IMMA.16832; no LDSM LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/matmul/byte_tiles.h"
#include "kernels/common/mma.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

constexpr int kTile = ByteTiles::kTile, kDepth = ByteTiles::kDepth, kThreads = 128,
              kWarpSide = ByteWarp::kSide;
constexpr int kRows = ByteWarp::kRows, kColumns = ByteWarp::kColumns, kDown = ByteWarp::kDown,
              kAcross = ByteWarp::kAcross;

struct Mma {
  __device__ __forceinline__ void operator()(int (&sum)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2]) const {
    cuda::mma_m16n8k32_s8(sum, a, b, sum);
  }
};

__global__ void __launch_bounds__(kThreads)
    multiply(const int8_t* __restrict__ a, const int8_t* __restrict__ b, const float* __restrict__ scale,
             float* __restrict__ c, int64_t m, int64_t n, int64_t k, bool whole) {
  __shared__ ByteTiles tiles;
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, group = lane / 4, in = lane % 4;
  const int row = warp / 2 * kWarpSide, column = warp % 2 * kWarpSide;
  int sums[kDown][kAcross][4] = {};
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    bring<kThreads>(tiles, a, b, m, n, k, i0, j0, p0, whole);
    __syncthreads();
    multiply_tiles(sums, tiles, row, column, Mma());
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kDown; ++r)
#pragma unroll
    for (int s = 0; s < kAcross; ++s)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int64_t i = i0 + row + r * kRows + group + e / 2 * 8,
                      j = j0 + column + s * kColumns + 2 * in + e % 2;
        if (i < m && j < n) c[i * n + j] = float(sums[r][s][e]) * scale[j];
      }
}

void run(const MatmulInt8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  const bool whole = k % 4 == 0 && reinterpret_cast<uintptr_t>(x.a) % 4 == 0;
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kThreads), 0, x.a, x.b, x.scale, x.c, m, n, k,
               whole);
}

KLAB_VARIANT(MatmulInt8,
             {.run = run,
              .parent = "02_dp4a",
              .tiles = {kColumns, kRows, kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.5},
              .supported = [](const MatmulInt8::Shape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
