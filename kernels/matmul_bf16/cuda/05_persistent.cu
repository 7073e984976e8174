// matmul_bf16.cuda.05_persistent: one block a multiprocessor, which fetches the next tile while it stores the last.
//
// CHANGE    tiles of C are 128 x 256, and a block takes one after the other. The fetching group gives its registers to the two
//           that multiply, 64 x 256 sums each, 128 a thread. A wgmma is waited for when the next one has been started. Sums
//           leave through shared memory by TMA, whole rows of 128 bytes, and the fetching thread does not wait for them.
//           Blocks that run at a time have neighboring tiles, as near a square of C as the grid allows.
// EXPECT    a tile's bytes a product fall by a quarter, 201 MB from L2 at 2048 cubed where the parent has 268, and there
//           128 tiles are one round of 132 multiprocessors: at least 1.4 times the parent.
// NUMERICS  as the parent.
// NEEDS     as the parent; 226 KB of shared memory.
#include <algorithm>
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/matmul/aligned_rows.h"
#include "kernels/common/matmul/hopper.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

constexpr int kRows = 128, kColumns = 256, kDepth = 64, kStages = 4;

#if KLAB_SIMT

void run(const MatmulBf16::Args<float>&) { throw std::logic_error("wgmma and TMA run on a GPU only"); }

#else

using namespace hopper;

constexpr int kThreads = 3 * kGroup;          // the first group fetches
constexpr int kBoxes = kColumns / kSwizzled;  // of a tile of B
constexpr int kOuts = 2;                      // boxes of sums that a warp stores at a time

struct Tiles {
  __nv_bfloat16 a[kRows * kDepth];              // [row][p]
  __nv_bfloat16 b[kBoxes][kDepth * kSwizzled];  // [p][column]
};
struct Shared {
  Tiles tiles[kStages];
  float out[8][kOuts][kOutRows * kOutColumns];  // of each warp that multiplies
  uint64_t full[kStages], empty[kStages];
};

/// Tiles of C. They are numbered down columns of kHigh, then across.
struct Grid {
  int down, across;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kGroupRows = kRows / 2;
constexpr int kHigh = 16;  // tiles of C that neighboring blocks have one under the other
constexpr int kRegistersToFetch = 40, kRegistersToMultiply = 232;  // 128·40 + 256·232 of 65,536

/// A stage of the ring of tiles, and the parity of its barriers' phase.
struct Ring {
  int stage, parity;
  __device__ __forceinline__ void next() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

struct Corner {
  int i, j;
};
__device__ __forceinline__ Corner corner_of(const Grid& grid, int tile) {
  const int band = kHigh * grid.across, first = tile / band * kHigh, high = min(kHigh, grid.down - first);
  return {(first + tile % band % high) * kRows, tile % band / high * kColumns};
}

/// The fetching thread: fills buffers as they become empty, tile after tile.
__device__ __forceinline__ void fetch_all(Shared& shared, const CUtensorMap* map_a, const CUtensorMap* map_b,
                                          const Grid& grid, int steps) {
  Ring ring{0, 1};  // the first round finds all empty
  for (int tile = int(blockIdx.x); tile < grid.down * grid.across; tile += int(gridDim.x)) {
    const Corner at = corner_of(grid, tile);
    for (int step = 0; step < steps; ++step, ring.next()) {
      uint64_t* full = &shared.full[ring.stage];
      Tiles& tiles = shared.tiles[ring.stage];
      barrier_wait(&shared.empty[ring.stage], uint32_t(ring.parity));
      barrier_expect(full, sizeof(Tiles));
      fetch_box(tiles.a, map_a, at.i, step * kDepth, full);
#pragma unroll
      for (int box = 0; box < kBoxes; ++box)
        fetch_box(tiles.b[box], map_b, step * kDepth, at.j + box * kSwizzled, full);
    }
  }
}

/// A group that multiplies: 64 rows and 256 columns of a tile of C. A buffer is empty when the wgmma that read it is over,
/// which is known one step later.
__device__ __forceinline__ void multiply_tile(Shared& shared, float (&sums)[kColumns / 8][4], int group,
                                              int steps, Ring& ring) {
  int before = 0;
  for (int step = 0; step < steps; ++step, ring.next()) {
    barrier_wait(&shared.full[ring.stage], uint32_t(ring.parity));
    const Tiles& tiles = shared.tiles[ring.stage];
    const uint64_t a = describe_k_major(tiles.a + group * kGroupRows * kDepth);
    const uint64_t b = describe_n_major(tiles.b, sizeof(tiles.b[0]));
    multiply_begin();
#pragma unroll
    for (int p = 0; p < kDepth / 16; ++p)
      multiply_bf16(sums, a + p * kNextK, b + p * kNextRows, step + p > 0);
    multiply_commit();
    multiply_wait<1>();
    if (step > 0 && threadIdx.x % kGroup == 0) barrier_arrive(&shared.empty[before]);
    before = ring.stage;
  }
  multiply_wait<0>();
  if (threadIdx.x % kGroup == 0) barrier_arrive(&shared.empty[before]);
  settle(sums);
}

#endif

/// `boxes`: TMA takes C. `pairs`: it does not, but n is even and C is aligned to 8 bytes.
__global__ void __launch_bounds__(kThreads, 1)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             const __grid_constant__ CUtensorMap map_c, float* __restrict__ c, int64_t m, int64_t n,
             int steps, Grid grid, bool boxes, bool pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  KLAB_DYNAMIC_SHARED(unsigned char, bytes);
  Shared& shared = *reinterpret_cast<Shared*>(bytes + (kPeriod - shared_address(bytes) % kPeriod) % kPeriod);
  if (threadIdx.x == 0) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(&shared.full[stage], 1);
      barrier_init(&shared.empty[stage], 2);
    }
    barrier_publish();
  }
  __syncthreads();
  if (threadIdx.x < kGroup) {
    give_registers<kRegistersToFetch>();
    if (threadIdx.x == 0) fetch_all(shared, &map_a, &map_b, grid, steps);
    return;
  }
  take_registers<kRegistersToMultiply>();
  const int warp = int(threadIdx.x) / 32 - 4, group = warp / 4;
  float sums[kColumns / 8][4];
  Ring ring{0, 0};
  for (int tile = int(blockIdx.x); tile < grid.down * grid.across; tile += int(gridDim.x)) {
    const Corner at = corner_of(grid, tile);
    multiply_tile(shared, sums, group, steps, ring);
    const auto value = [&](int s, int e) { return sums[s][e]; };
    if (boxes)
      store_by_boxes<kColumns / 8>(value, &map_c, shared.out[warp], at.i + group * kGroupRows, at.j);
    else
      store_directly<kColumns / 8>(value, c, m, n, at.i + group * kGroupRows, at.j, pairs);
  }
  if (boxes && threadIdx.x % 32 == 0) store_wait_read<0>();  // shared memory ends with the block
#else
  __trap();  // compiled for another GPU, which supported() rejects
#endif
}

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  const AlignedRows<__nv_bfloat16> a(x.a, m, k), b(x.b, k, n);
  const bool boxes = tiled_copies_take(x.c, n, sizeof(float));
  const CUtensorMap map_a = map_of(a.data(), m, a.stride(), kRows),
                    map_b = map_of(b.data(), k, b.stride(), kDepth);
  const Grid grid{int((m + kRows - 1) / kRows), int((n + kColumns - 1) / kColumns)};
  const int tiles = grid.down * grid.across, most = cuda::device().multiprocessors;
  const int rounds = (tiles + most - 1) / most;
  constexpr size_t bytes = sizeof(Shared) + kPeriod;
  cuda::allow_shared(multiply, bytes);
  // As few blocks as need no further round.
  cuda::launch(multiply, dim3(unsigned((tiles + rounds - 1) / rounds)), dim3(kThreads), bytes, map_a, map_b,
               boxes ? map_of(x.c, m, n, kOutRows) : map_a, x.c, m, n, int((k + kDepth - 1) / kDepth), grid,
               boxes, n % 2 == 0 && reinterpret_cast<uintptr_t>(x.c) % 8 == 0);
}

#endif

KLAB_VARIANT(MatmulBf16,
             {.run = run,
              .parent = "04_wgmma_tma",
              .tiles = {kDepth, kRows, kColumns},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.4},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const MatmulBf16::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
