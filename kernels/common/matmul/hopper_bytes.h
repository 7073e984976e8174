// Products of matrices of bytes on Hopper: the pipeline that matmul_int8 and matmul_fp8 share. It is that of
// matmul_bf16.cuda.05_persistent and 06_multicast; new are tiles of 128 bytes along k for both factors, and a scale for each column of C.
//
// A Job says how a group of 128 threads multiplies:
//
//   static constexpr int kColumns, kStages;       a tile of C is 128 x kColumns, of which a group has 64 x kColumns
//   static constexpr int kCluster;                blocks, one under the other, that share tiles of B: 1, 2
//   using Sum = float;
//   static __device__ void multiply(Sum (&sums)[kColumns / 8][4], ByteRing<Job>& ring, int group, int steps);
//                                                 ring.wait() is the next pair of tiles; ring.release() it after use
#pragma once

#include <algorithm>

#include "kernels/common/matmul/aligned_rows.h"
#include "kernels/common/matmul/hopper.h"
#include "kernels/common/matmul/turn_bytes.h"

#if !KLAB_SIMT

namespace klab::hopper {

constexpr int kByteRows = 128, kByteDepth = 128;  // of a tile
constexpr int kByteThreads = 3 * kGroup;          // the first group fetches
constexpr int kByteOuts = 2;                      // boxes of sums that a warp has under way
constexpr int kByteHigh = 16;                     // tiles of C that neighbors have one under the other

template <class Job>
struct ByteShared {
  struct Tiles {
    uint8_t a[kByteRows * kByteDepth];      // [row][p]
    uint8_t b[Job::kColumns * kByteDepth];  // [column][p]
  };
  Tiles tiles[Job::kStages];
  float out[8][kByteOuts][kOutRows * kOutColumns];  // of each warp that multiplies
  uint64_t full[Job::kStages], empty[Job::kStages];
};

/// Tiles of a cluster. They are numbered down a band of kByteHigh rows, then across.
struct ByteGrid {
  int down, across;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// The pairs of tiles in turn, and the parity of their barriers' phase.
template <class Job>
struct ByteRing {
  ByteShared<Job>& shared;
  int stage, parity;

  __device__ __forceinline__ void next() {
    if (++stage == Job::kStages) stage = 0, parity ^= 1;
  }
  __device__ __forceinline__ const typename ByteShared<Job>::Tiles& wait() {
    barrier_wait(&shared.full[stage], uint32_t(parity));
    return shared.tiles[stage];
  }
  /// Says to all blocks of the cluster that this group has read the tiles: each of them writes them.
  __device__ __forceinline__ void release(int of) {
    const uint32_t block = threadIdx.x % kGroup;
    if constexpr (Job::kCluster == 1) {
      if (block == 0) barrier_arrive(&shared.empty[of]);
    } else {
      if (block < Job::kCluster) barrier_arrive_at(&shared.empty[of], block);
    }
  }
};

struct ByteCorner {
  int i, j;
};
template <class Job>
__device__ __forceinline__ ByteCorner byte_corner_of(const ByteGrid& grid, int tile) {
  constexpr int most = kByteHigh / Job::kCluster;
  const int band = most * grid.across, first = tile / band * most, high = min(most, grid.down - first);
  return {((first + tile % band % high) * Job::kCluster + int(cluster_rank())) * kByteRows,
          tile % band / high * Job::kColumns};
}

/// The fetching thread: fills buffers as they become empty, tile after tile. In a cluster of two half of B comes from the
/// other block's.
template <class Job>
__device__ __forceinline__ void fetch_bytes(ByteShared<Job>& shared, const CUtensorMap* map_a,
                                            const CUtensorMap* map_b, const ByteGrid& grid, int steps) {
  constexpr int part = Job::kColumns / Job::kCluster;
  const int mine = int(cluster_rank()) * part;
  ByteRing<Job> ring{shared, 0, 1};  // the first round finds all empty
  for (int tile = int(blockIdx.x) / Job::kCluster; tile < grid.down * grid.across;
       tile += int(gridDim.x) / Job::kCluster) {
    const ByteCorner at = byte_corner_of<Job>(grid, tile);
    for (int step = 0; step < steps; ++step, ring.next()) {
      uint64_t* full = &shared.full[ring.stage];
      auto& tiles = shared.tiles[ring.stage];
      barrier_wait(&shared.empty[ring.stage], uint32_t(ring.parity));
      barrier_expect(full, sizeof tiles);  // another block's copies may have arrived
      fetch_box(tiles.a, map_a, at.i, step * kByteDepth, full);
      if constexpr (Job::kCluster == 1)
        fetch_box(tiles.b, map_b, at.j, step * kByteDepth, full);
      else
        fetch_box_to(tiles.b + mine * kByteDepth, map_b, at.j + mine, step * kByteDepth, full,
                     (1 << Job::kCluster) - 1);
    }
  }
}

/// The groups that multiply.
template <class Job>
__device__ __forceinline__ void multiply_tiles_of_bytes(ByteShared<Job>& shared, const CUtensorMap* map_c,
                                                        const float* __restrict__ scale, float* c, int64_t m,
                                                        int64_t n, int steps, const ByteGrid& grid,
                                                        bool boxes, bool pairs) {
  constexpr int blocks = Job::kColumns / 8;
  const int warp = int(threadIdx.x) / 32 - 4, group = warp / 4;
  typename Job::Sum sums[blocks][4];
  ByteRing<Job> ring{shared, 0, 0};
  for (int tile = int(blockIdx.x) / Job::kCluster; tile < grid.down * grid.across;
       tile += int(gridDim.x) / Job::kCluster) {
    const ByteCorner at = byte_corner_of<Job>(grid, tile);
    Job::multiply(sums, ring, group, steps);
    const auto value = [&](int s, int e) {
      const int64_t j = at.j + s * 8 + int(threadIdx.x) % 4 * 2 + e % 2;
      return float(sums[s][e]) * (j < n ? scale[j] : 0);
    };
    const int i0 = at.i + group * (kByteRows / 2);
    if (boxes)
      store_by_boxes<blocks>(value, map_c, shared.out[warp], i0, at.j);
    else
      store_directly<blocks>(value, c, m, n, i0, at.j, pairs);
  }
  if (boxes && threadIdx.x % 32 == 0) store_wait_read<0>();  // shared memory ends with the block
  __syncwarp();
}

#endif

/// `boxes`: TMA takes C. `pairs`: it does not, but n is even and C is aligned to 8 bytes.
template <class Job>
__global__ void __launch_bounds__(kByteThreads, 1)
    multiply_bytes(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                   const __grid_constant__ CUtensorMap map_c, const float* __restrict__ scale,
                   float* __restrict__ c, int64_t m, int64_t n, int steps, ByteGrid grid, bool boxes,
                   bool pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  KLAB_DYNAMIC_SHARED(unsigned char, bytes);
  auto& shared =
      *reinterpret_cast<ByteShared<Job>*>(bytes + (kPeriod - shared_address(bytes) % kPeriod) % kPeriod);
  if (threadIdx.x == 0) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    for (int stage = 0; stage < Job::kStages; ++stage) {
      barrier_init(&shared.full[stage], 1);
      barrier_init(&shared.empty[stage], 2 * Job::kCluster);
    }
    barrier_publish();
  }
  cluster_sync();
  if (threadIdx.x < kGroup) {
    give_registers<40>();
    if (threadIdx.x == 0) fetch_bytes(shared, &map_a, &map_b, grid, steps);
    __syncwarp();
  } else {
    take_registers<232>();
    multiply_tiles_of_bytes(shared, &map_c, scale, c, m, n, steps, grid, boxes, pairs);
  }
  cluster_sync();  // copies and arrivals of the other block end in this one's shared memory
#else
  __trap();  // compiled for another GPU, which supported() rejects
#endif
}

/// Two launches: B is turned, so that both factors lie along k, and the products are made. Sizes are 1 or more.
template <class Job>
void multiply_matrices_of_bytes(const void* a, const void* b, const float* scale, float* c, int64_t m,
                                int64_t n, int64_t k) {
  const AlignedRows<uint8_t> rows(a, m, k);
  cuda::Scratch columns(size_t(n * rows.stride()));
  turn_bytes(static_cast<const uint8_t*>(b), k, n, rows.stride(), columns.as<uint8_t>());
  const bool boxes = tiled_copies_take(c, n, sizeof(float));
  const CUtensorMap map_a = map_of(rows.data(), m, rows.stride(), kByteRows);
  const CUtensorMap map_b = map_of(columns.as<uint8_t>(), n, rows.stride(), Job::kColumns / Job::kCluster);
  constexpr int high = Job::kCluster * kByteRows;
  const ByteGrid grid{int((m + high - 1) / high), int((n + Job::kColumns - 1) / Job::kColumns)};
  constexpr size_t bytes = sizeof(ByteShared<Job>) + kPeriod;
  cuda::allow_shared(multiply_bytes<Job>, bytes);
  static const int most = clusters_at_a_time(multiply_bytes<Job>, Job::kCluster, kByteThreads, bytes);
  const int tiles = grid.down * grid.across, rounds = (tiles + most - 1) / most;
  // As few clusters as need no further round.
  launch_clusters(multiply_bytes<Job>, unsigned((tiles + rounds - 1) / rounds * Job::kCluster), Job::kCluster,
                  kByteThreads, bytes, map_a, map_b, boxes ? map_of(c, m, n, kOutRows) : map_a, scale, c, m,
                  n, int((k + kByteDepth - 1) / kByteDepth), grid, boxes,
                  n % 2 == 0 && reinterpret_cast<uintptr_t>(c) % 8 == 0);
}

}  // namespace klab::hopper

#endif  // !KLAB_SIMT
