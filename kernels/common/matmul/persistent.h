// A product of matrices of bf16 by blocks that stay (wgmma, TMA): matmul_bf16.cuda.05_persistent, whose header tells how, and
// matmul.cuda.12_persistent, which rounds its factors first.
#pragma once

#include <algorithm>

#include "kernels/common/matmul/hopper.h"

namespace klab::hopper::persistent {

constexpr int kRows = 128, kColumns = 256, kDepth = 64;  // of a tile
constexpr int kStages = 4;                               // tiles under load or in use

#if !KLAB_SIMT

namespace {  // a kernel is each file's own

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

/// C[m,n] = A[m,k] B[k,n]. Rows of A and B begin at multiples of 16 bytes, `a_stride` and `b_stride` elements apart. Sizes are 1 or
/// more.
void multiply_matrices(const __nv_bfloat16* a, int64_t a_stride, const __nv_bfloat16* b, int64_t b_stride,
                       float* c, int64_t m, int64_t n, int64_t k) {
  const bool boxes = tiled_copies_take(c, n, sizeof(float));
  const CUtensorMap map_a = map_of(a, m, a_stride, kRows), map_b = map_of(b, k, b_stride, kDepth);
  const Grid grid{int((m + kRows - 1) / kRows), int((n + kColumns - 1) / kColumns)};
  const int tiles = grid.down * grid.across, most = cuda::device().multiprocessors;
  const int rounds = (tiles + most - 1) / most;
  constexpr size_t bytes = sizeof(Shared) + kPeriod;
  cuda::allow_shared(multiply, bytes);
  // As few blocks as need no further round.
  cuda::launch(multiply, dim3(unsigned((tiles + rounds - 1) / rounds)), dim3(kThreads), bytes, map_a, map_b,
               boxes ? map_of(c, m, n, kOutRows) : map_a, c, m, n, int((k + kDepth - 1) / kDepth), grid,
               boxes, n % 2 == 0 && reinterpret_cast<uintptr_t>(c) % 8 == 0);
}

}  // namespace

#endif

}  // namespace klab::hopper::persistent
