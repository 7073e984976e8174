// matmul.cuda.11_wgmma_tma: four warps, one instruction; tiles fetched by one thread.
//
// CHANGE    Hopper's matrix instruction (wgmma) reads both factors from shared memory and is issued by a
//           group of four warps, asynchronously. A tile is fetched by one copy of the tensor memory
//           accelerator (TMA), started by one thread of a separate warp; barriers in shared memory (mbarrier)
//           signal full and empty buffers.
// EXPECT    no operand passes a register and no thread computes addresses: two thirds of the parent's
//           instructions are gone. mma.sync cannot fill Hopper's tensor cores, wgmma can. At least 1.4 times
//           the parent at 2048.
// NUMERICS  as the parent.
// NEEDS     compute capability 9.0, and only that one. 129 KB of shared memory; 2 bytes of device memory for each
//           element of A and B.
// SASS      HGMMA.BF16 UTMALDG; no LDSM LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/matmul/hopper.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 64, kStages = 4;  // 64 elements are 128 bytes, the width of the swizzle

using namespace hopper;

constexpr int kThreads = 3 * kGroup;  // two groups that multiply, one of which a thread fetches
constexpr int kSide = 32;             // of a tile that is rounded

struct Tiles {
  __nv_bfloat16 a[kTile * kDepth];  // [row][p], swizzled by the copy
  __nv_bfloat16 b[kTile * kDepth];  // [column][p]
};
struct Shared {
  Tiles tiles[kStages];
  uint64_t full[kStages], empty[kStages];
};

#if KLAB_HOPPER

constexpr int kGroupRows = kTile / 2;  // of C, in a group that multiplies

/// The fetching thread: fills buffers as they become empty.
__device__ __forceinline__ void fetch_all(Shared& shared, const CUtensorMap* map_a, const CUtensorMap* map_b,
                                          int steps, int i0, int j0) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    barrier_wait(&shared.empty[stage], (step / kStages & 1) ^ 1);  // passes at once in the first round
    barrier_expect(&shared.full[stage], sizeof(Tiles));
    fetch_box(shared.tiles[stage].a, map_a, i0, step * kDepth, &shared.full[stage]);
    fetch_box(shared.tiles[stage].b, map_b, j0, step * kDepth, &shared.full[stage]);
  }
}

/// A group that multiplies: 64 rows and 128 columns of C.
__device__ __forceinline__ void multiply_all(Shared& shared, float (&sums)[16][4], int group, int steps) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    barrier_wait(&shared.full[stage], step / kStages & 1);
    const uint64_t a = describe_k_major(shared.tiles[stage].a + group * kGroupRows * kDepth);
    const uint64_t b = describe_k_major(shared.tiles[stage].b);
    multiply_begin();
#pragma unroll
    for (int p = 0; p < kDepth / 16; ++p) multiply_bf16_along_k(sums, a + p * kNextK, b + p * kNextK);
    multiply_commit();
    multiply_wait<0>();
    if (threadIdx.x % kGroup == 0) barrier_arrive(&shared.empty[stage]);
  }
}

#endif

__global__ void __launch_bounds__(kThreads)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             float* __restrict__ c, int64_t m, int64_t n, int steps, int64_t across) {
#if KLAB_HOPPER
  KLAB_DYNAMIC_SHARED(unsigned char, bytes);
  const uint32_t skip = (kPeriod - shared_address(bytes) % kPeriod) % kPeriod;
  Shared& shared = *reinterpret_cast<Shared*>(bytes + skip);
  const int group = threadIdx.x / kGroup;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(&shared.full[stage], 1);
      barrier_init(&shared.empty[stage], 2);
    }
    barrier_publish();
  }
  __syncthreads();
  if (group == 2) {
    if (threadIdx.x % kGroup == 0) fetch_all(shared, &map_a, &map_b, steps, int(i0), int(j0));
    return;
  }
  float sums[16][4] = {};
  multiply_all(shared, sums, group, steps);
  const int warp = threadIdx.x % kGroup / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int s = 0; s < 16; ++s)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t i = i0 + group * kGroupRows + warp * 16 + half * 8 + lane / 4,
                    j = j0 + s * 8 + lane % 4 * 2;
      if (i >= m || j >= n) continue;
      c[i * n + j] = sums[s][2 * half];
      if (j + 1 < n) c[i * n + j + 1] = sums[s][2 * half + 1];
    }
#else
  __trap();  // compiled for another GPU, which supported() rejects
#endif
}

/// Rounds [height, width] into [rows, stride], zeros beyond the edges.
__global__ void __launch_bounds__(kSide* kSide)
    round_rows(const float* __restrict__ from, int64_t height, int64_t width, int64_t stride, int64_t across,
               __nv_bfloat16* __restrict__ to) {
  const int64_t i = blockIdx.x / across * kSide + threadIdx.y, j = blockIdx.x % across * kSide + threadIdx.x;
  to[i * stride + j] = __float2bfloat16(i < height && j < width ? from[i * width + j] : 0);
}

/// Rounds and transposes: to[j * stride + i] of [height, width].
__global__ void __launch_bounds__(kSide* kSide)
    round_columns(const float* __restrict__ from, int64_t height, int64_t width, int64_t stride,
                  int64_t across, __nv_bfloat16* __restrict__ to) {
  __shared__ float tile[kSide][kSide + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t i0 = blockIdx.x / across * kSide, j0 = blockIdx.x % across * kSide;
  tile[y][x] = i0 + y < height && j0 + x < width ? from[(i0 + y) * width + j0 + x] : 0;
  __syncthreads();
  to[(j0 + y) * stride + i0 + x] = __float2bfloat16(tile[x][y]);
}

int64_t padded(int64_t size, int64_t to) { return (size + to - 1) / to * to; }

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  const int64_t rows = padded(m, kTile), columns = padded(n, kTile), depth = padded(k, kDepth);
  cuda::Scratch scratch_a(size_t(rows * depth) * sizeof(__nv_bfloat16));
  cuda::Scratch scratch_b(size_t(columns * depth) * sizeof(__nv_bfloat16));
  auto* a = scratch_a.as<__nv_bfloat16>();
  auto* b = scratch_b.as<__nv_bfloat16>();
  const dim3 side(kSide, kSide);
  cuda::launch(round_rows, dim3(unsigned(rows / kSide * (depth / kSide))), side, 0, x.a, m, k, depth,
               depth / kSide, a);
  cuda::launch(round_columns, dim3(unsigned(depth / kSide * (columns / kSide))), side, 0, x.b, k, n, depth,
               columns / kSide, b);
  constexpr size_t bytes = sizeof(Shared) + kPeriod;
  cuda::allow_shared(multiply, bytes);
  cuda::launch(multiply, dim3(unsigned(rows / kTile * (columns / kTile))), dim3(kThreads), bytes,
               map_of(a, rows, depth, kTile), map_of(b, columns, depth, kTile), x.c, m, n,
               int(depth / kDepth), columns / kTile);
}

KLAB_VARIANT(Matmul,
             {.run = run,
              .parent = "10_mma_sync",
              .numerics = {.unit = Unit::bf16},
              .tiles = {kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.4},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const Matmul::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
