// Products of matrices by blocks that stay on their multiprocessor (wgmma, TMA): the frame of matmul_bf16.cuda.05_persistent, whose
// header tells how, and of the rungs that multiply other formats or round their factors first.
//
// A Job says what a tile is made of:
//
//   static constexpr int kColumns, kStages;       a tile of C is kRows x kColumns, of which a group has half the rows
//   static constexpr int kDepth;                  of the tiles of A and B, in elements
//   static constexpr bool kScaled;                columns of C are multiplied by a scale
//   struct Tiles;                                 one of A and one of B, in shared memory
//   using Sum = float;
//   static __device__ void fetch(Tiles& to, const CUtensorMap* a, const CUtensorMap* b, int i, int j, int p, uint64_t* full);
//   static __device__ void multiply(Sum (&sums)[kColumns / 8][4], Ring<Job>& ring, int group, int steps);
//                                                 ring.wait() is the next pair of tiles; ring.release() it after use
#pragma once

#include <algorithm>

#include "kernels/common/matmul/hopper.h"

namespace klab::hopper::persistent {

constexpr int kRows = 128;

constexpr int kThreads = 3 * kGroup;  // the first group fetches
constexpr int kOuts = 2;              // boxes of sums that a warp stores at a time

template <class Job>
struct Shared {
  typename Job::Tiles tiles[Job::kStages];
  float out[8][kOuts][kOutRows * kOutColumns];  // of each warp that multiplies
  uint64_t full[Job::kStages], empty[Job::kStages];
};

/// Tiles of C. They are numbered down a band of kHigh rows, then across.
struct Grid {
  int down, across;
};

#if KLAB_HOPPER

constexpr int kGroupRows = kRows / 2;
constexpr int kHigh = 16;  // tiles of C that neighboring blocks have one under the other
constexpr int kRegistersToFetch = 40, kRegistersToMultiply = 232;  // 128·40 + 256·232 of 65,536

/// The pairs of tiles in turn, and the parity of their barriers' phase.
template <class Job>
struct Ring {
  Shared<Job>& shared;
  int stage, parity;

  __device__ __forceinline__ void next() {
    if (++stage == Job::kStages) stage = 0, parity ^= 1;
  }
  __device__ __forceinline__ const typename Job::Tiles& wait() {
    barrier_wait(&shared.full[stage], uint32_t(parity));
    return shared.tiles[stage];
  }
  /// Says that this group has read the tiles.
  __device__ __forceinline__ void release(int of) {
    if (threadIdx.x % kGroup == 0) barrier_arrive(&shared.empty[of]);
  }
};

struct Corner {
  int i, j;
};
template <class Job>
__device__ __forceinline__ Corner corner_of(const Grid& grid, int tile) {
  const int band = kHigh * grid.across, first = tile / band * kHigh, high = min(kHigh, grid.down - first);
  return {(first + tile % band % high) * kRows, tile % band / high * Job::kColumns};
}

/// The fetching thread: fills buffers as they become empty, tile after tile.
template <class Job>
__device__ __forceinline__ void fetch_all(Shared<Job>& shared, const CUtensorMap* map_a,
                                          const CUtensorMap* map_b, const Grid& grid, int steps) {
  Ring<Job> ring{shared, 0, 1};  // the first round finds all empty
  for (int tile = int(blockIdx.x); tile < grid.down * grid.across; tile += int(gridDim.x)) {
    const Corner at = corner_of<Job>(grid, tile);
    for (int step = 0; step < steps; ++step, ring.next()) {
      uint64_t* full = &shared.full[ring.stage];
      auto& tiles = shared.tiles[ring.stage];
      barrier_wait(&shared.empty[ring.stage], uint32_t(ring.parity));
      barrier_expect(full, sizeof tiles);
      Job::fetch(tiles, map_a, map_b, at.i, at.j, step * Job::kDepth, full);
    }
  }
}

/// The groups that multiply.
template <class Job>
__device__ __forceinline__ void multiply_all(Shared<Job>& shared, const CUtensorMap* map_c,
                                             const float* __restrict__ scale, float* c, int64_t m, int64_t n,
                                             int steps, const Grid& grid, bool boxes, bool pairs) {
  constexpr int blocks = Job::kColumns / 8;
  const int warp = int(threadIdx.x) / 32 - 4, group = warp / 4;
  typename Job::Sum sums[blocks][4];
  Ring<Job> ring{shared, 0, 0};
  for (int tile = int(blockIdx.x); tile < grid.down * grid.across; tile += int(gridDim.x)) {
    const Corner at = corner_of<Job>(grid, tile);
    Job::multiply(sums, ring, group, steps);
    const auto value = [&](int s, int e) {
      if constexpr (!Job::kScaled) return sums[s][e];
      const int64_t j = at.j + s * 8 + int(threadIdx.x) % 4 * 2 + e % 2;
      return float(sums[s][e]) * (j < n ? scale[j] : 0);
    };
    const int i0 = at.i + group * kGroupRows;
    if (boxes)
      store_by_boxes<blocks>(value, map_c, shared.out[warp], i0, at.j);
    else
      store_directly<blocks>(value, c, m, n, i0, at.j, pairs);
  }
  if (boxes && threadIdx.x % 32 == 0) store_wait_read<0>();  // shared memory ends with the block
}

#endif

/// `boxes`: TMA takes C. `pairs`: it does not, but n is even and C is aligned to 8 bytes.
template <class Job>
__global__ void __launch_bounds__(kThreads, 1)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             const __grid_constant__ CUtensorMap map_c, const float* __restrict__ scale,
             float* __restrict__ c, int64_t m, int64_t n, int steps, Grid grid, bool boxes, bool pairs) {
#if KLAB_HOPPER
  KLAB_DYNAMIC_SHARED(unsigned char, bytes);
  auto& shared =
      *reinterpret_cast<Shared<Job>*>(bytes + (kPeriod - shared_address(bytes) % kPeriod) % kPeriod);
  if (threadIdx.x == 0) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    for (int stage = 0; stage < Job::kStages; ++stage) {
      barrier_init(&shared.full[stage], 1);
      barrier_init(&shared.empty[stage], 2);
    }
    barrier_publish();
  }
  __syncthreads();
  if (threadIdx.x < kGroup) {
    give_registers<kRegistersToFetch>();
    if (threadIdx.x == 0) fetch_all(shared, &map_a, &map_b, grid, steps);
  } else {
    take_registers<kRegistersToMultiply>();
    multiply_all(shared, &map_c, scale, c, m, n, steps, grid, boxes, pairs);
  }
#else
  __trap();  // compiled for another GPU, which supported() rejects
#endif
}

/// C[m,n] = A[m,k] B[k,n] of the matrices that the maps show; `scale` is read where the Job scales. Sizes are 1 or more.
template <class Job>
void multiply_matrices(const CUtensorMap& map_a, const CUtensorMap& map_b, const float* scale, float* c,
                       int64_t m, int64_t n, int64_t k) {
  const bool boxes = tiled_copies_take(c, n, sizeof(float));
  const Grid grid{int((m + kRows - 1) / kRows), int((n + Job::kColumns - 1) / Job::kColumns)};
  const int tiles = grid.down * grid.across, most = cuda::device().multiprocessors;
  const int rounds = (tiles + most - 1) / most;
  constexpr size_t bytes = sizeof(Shared<Job>) + kPeriod;
  cuda::allow_shared(multiply<Job>, bytes);
  // As few blocks as need no further round.
  cuda::launch(multiply<Job>, dim3(unsigned((tiles + rounds - 1) / rounds)), dim3(kThreads), bytes, map_a,
               map_b, boxes ? map_of(c, m, n, kOutRows) : map_a, scale, c, m, n,
               int((k + Job::kDepth - 1) / Job::kDepth), grid, boxes,
               n % 2 == 0 && reinterpret_cast<uintptr_t>(c) % 8 == 0);
}

}  // namespace klab::hopper::persistent
