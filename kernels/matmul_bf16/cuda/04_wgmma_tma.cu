// matmul_bf16.cuda.04_wgmma_tma: an instruction of four warps reads both tiles; one thread fetches them.
//
// CHANGE    Hopper's matrix instruction (wgmma) takes A and B from shared memory, B as it lies there, [k, n]: it transposes
//           elements of two bytes. A tile comes by copies of the tensor memory accelerator (TMA), started by one thread of
//           a third group, and barriers in shared memory say which tiles are full and which are empty.
// EXPECT    no factor passes through registers, and no thread computes addresses. But tiles of 128 x 128 bring as many bytes
//           from L2 as the parent's, 268 MB at 2048 cubed, and those bind: at least 1.1 times the parent.
// NUMERICS  as the parent.
// NEEDS     compute capability 9.0, and only that one. 129 KB of shared memory.
// SASS      HGMMA.BF16 UTMALDG; no LDSM LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/matmul/aligned_rows.h"
#include "kernels/common/matmul/hopper.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 64, kStages = 4;

using namespace hopper;

constexpr int kThreads = 3 * kGroup;       // two groups that multiply, one of which a thread fetches
constexpr int kBoxes = kTile / kSwizzled;  // of a tile of B, 64 columns each

struct Tiles {
  __nv_bfloat16 a[kTile * kDepth];              // [row][p]
  __nv_bfloat16 b[kBoxes][kDepth * kSwizzled];  // [p][column]
};
struct Shared {
  Tiles tiles[kStages];
  uint64_t full[kStages], empty[kStages];
};

#if KLAB_HOPPER

constexpr int kGroupRows = kTile / 2;

/// The fetching thread: fills buffers as they become empty.
__device__ __forceinline__ void fetch_all(Shared& shared, const CUtensorMap* map_a, const CUtensorMap* map_b,
                                          int steps, int i0, int j0) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    barrier_wait(&shared.empty[stage], (step / kStages & 1) ^ 1);  // passes at once in the first round
    barrier_expect(&shared.full[stage], sizeof(Tiles));
    fetch_box(shared.tiles[stage].a, map_a, i0, step * kDepth, &shared.full[stage]);
#pragma unroll
    for (int box = 0; box < kBoxes; ++box)
      fetch_box(shared.tiles[stage].b[box], map_b, step * kDepth, j0 + box * kSwizzled, &shared.full[stage]);
  }
}

/// A group that multiplies: 64 rows and 128 columns of C.
__device__ __forceinline__ void multiply_all(Shared& shared, float (&sums)[kTile / 8][4], int group,
                                             int steps) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    barrier_wait(&shared.full[stage], step / kStages & 1);
    const Tiles& tiles = shared.tiles[stage];
    const uint64_t a = describe_k_major(tiles.a + group * kGroupRows * kDepth);
    const uint64_t b = describe_n_major(tiles.b, sizeof(tiles.b[0]));
    multiply_begin();
#pragma unroll
    for (int p = 0; p < kDepth / 16; ++p)
      multiply_bf16(sums, a + p * kNextK, b + p * kNextRows, step + p > 0);
    multiply_commit();
    multiply_wait<0>();
    if (threadIdx.x % kGroup == 0) barrier_arrive(&shared.empty[stage]);
  }
  settle(sums);
}

#endif

__global__ void __launch_bounds__(kThreads)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             float* __restrict__ c, int64_t m, int64_t n, int steps, int64_t across, bool pairs) {
#if KLAB_HOPPER
  KLAB_DYNAMIC_SHARED(unsigned char, bytes);
  Shared& shared = *reinterpret_cast<Shared*>(bytes + (kPeriod - shared_address(bytes) % kPeriod) % kPeriod);
  const int group = int(threadIdx.x) / kGroup;
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
  float sums[kTile / 8][4];
  multiply_all(shared, sums, group, steps);
  const auto value = [&](int s, int e) { return sums[s][e]; };
  store_directly<kTile / 8>(value, c, m, n, i0 + group * kGroupRows, j0, pairs);
#else
  __trap();  // compiled for another GPU, which supported() rejects
#endif
}

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  const AlignedRows<__nv_bfloat16> a(x.a, m, k), b(x.b, k, n);
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  constexpr size_t bytes = sizeof(Shared) + kPeriod;
  cuda::allow_shared(multiply, bytes);
  cuda::launch(multiply, dim3(unsigned(down * across)), dim3(kThreads), bytes,
               map_of(a.data(), m, a.stride(), kTile), map_of(b.data(), k, b.stride(), kDepth), x.c, m, n,
               int((k + kDepth - 1) / kDepth), across,
               n % 2 == 0 && reinterpret_cast<uintptr_t>(x.c) % 8 == 0);
}

KLAB_VARIANT(MatmulBf16,
             {.run = run,
              .parent = "03_mma_sync",
              .tiles = {kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.1},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const MatmulBf16::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
