// Products of matrices of bytes on Hopper: the pipeline that matmul_int8 and matmul_fp8 share. It is that of
// matmul_bf16.cuda.05_persistent; new are tiles of 128 bytes along k for both factors, and a scale for each column of C.
//
// A Job says how a group of 128 threads multiplies:
//
//   static constexpr int kColumns, kStages;       a tile of C is 128 x kColumns, of which a group has 64 x kColumns
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
constexpr int kByteOuts = 2;                      // boxes of sums that a warp stores at a time
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

/// Tiles of C. They are numbered down a band of kByteHigh rows, then across.
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
  /// Says that this group has read the tiles.
  __device__ __forceinline__ void release(int of) {
    if (threadIdx.x % kGroup == 0) barrier_arrive(&shared.empty[of]);
  }
};

struct ByteCorner {
  int i, j;
};
template <class Job>
__device__ __forceinline__ ByteCorner byte_corner_of(const ByteGrid& grid, int tile) {
  const int band = kByteHigh * grid.across, first = tile / band * kByteHigh;
  const int high = min(kByteHigh, grid.down - first);
  return {(first + tile % band % high) * kByteRows, tile % band / high * Job::kColumns};
}

/// The fetching thread: fills buffers as they become empty, tile after tile.
template <class Job>
__device__ __forceinline__ void fetch_bytes(ByteShared<Job>& shared, const CUtensorMap* map_a,
                                            const CUtensorMap* map_b, const ByteGrid& grid, int steps) {
  ByteRing<Job> ring{shared, 0, 1};  // the first round finds all empty
  for (int tile = int(blockIdx.x); tile < grid.down * grid.across; tile += int(gridDim.x)) {
    const ByteCorner at = byte_corner_of<Job>(grid, tile);
    for (int step = 0; step < steps; ++step, ring.next()) {
      uint64_t* full = &shared.full[ring.stage];
      auto& tiles = shared.tiles[ring.stage];
      barrier_wait(&shared.empty[ring.stage], uint32_t(ring.parity));
      barrier_expect(full, sizeof tiles);
      fetch_box(tiles.a, map_a, at.i, step * kByteDepth, full);
      fetch_box(tiles.b, map_b, at.j, step * kByteDepth, full);
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
  for (int tile = int(blockIdx.x); tile < grid.down * grid.across; tile += int(gridDim.x)) {
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
      barrier_init(&shared.empty[stage], 2);
    }
    barrier_publish();
  }
  __syncthreads();
  if (threadIdx.x < kGroup) {
    give_registers<40>();
    if (threadIdx.x == 0) fetch_bytes(shared, &map_a, &map_b, grid, steps);
  } else {
    take_registers<232>();
    multiply_tiles_of_bytes(shared, &map_c, scale, c, m, n, steps, grid, boxes, pairs);
  }
#else
  __trap();  // compiled for another GPU, which supported() rejects
#endif
}

/// C = A Bt^T, columns scaled: rows of A[m,k] and Bt[n,k] are `stride` bytes apart, a multiple of 16. Sizes are 1 or more.
template <class Job>
void multiply_rows_of_bytes(const uint8_t* a, const uint8_t* turned, int64_t stride, const float* scale,
                            float* c, int64_t m, int64_t n, int64_t k) {
  const bool boxes = tiled_copies_take(c, n, sizeof(float));
  const CUtensorMap map_a = map_of(a, m, stride, kByteRows);
  const CUtensorMap map_b = map_of(turned, n, stride, Job::kColumns);
  const ByteGrid grid{int((m + kByteRows - 1) / kByteRows), int((n + Job::kColumns - 1) / Job::kColumns)};
  constexpr size_t bytes = sizeof(ByteShared<Job>) + kPeriod;
  cuda::allow_shared(multiply_bytes<Job>, bytes);
  const int tiles = grid.down * grid.across, most = cuda::device().multiprocessors;
  const int rounds = (tiles + most - 1) / most;
  // As few blocks as need no further round.
  cuda::launch(multiply_bytes<Job>, dim3(unsigned((tiles + rounds - 1) / rounds)), dim3(kByteThreads), bytes,
               map_a, map_b, boxes ? map_of(c, m, n, kOutRows) : map_a, scale, c, m, n,
               int((k + kByteDepth - 1) / kByteDepth), grid, boxes,
               n % 2 == 0 && reinterpret_cast<uintptr_t>(c) % 8 == 0);
}

/// Two launches: B is turned, so that both factors lie along k, and the products are made. Sizes are 1 or more.
template <class Job>
void multiply_matrices_of_bytes(const void* a, const void* b, const float* scale, float* c, int64_t m,
                                int64_t n, int64_t k) {
  const AlignedRows<uint8_t> rows(a, m, k);
  cuda::Scratch columns(size_t(n * rows.stride()));
  turn_bytes(static_cast<const uint8_t*>(b), k, n, rows.stride(), columns.as<uint8_t>());
  multiply_rows_of_bytes<Job>(rows.data(), columns.as<uint8_t>(), rows.stride(), scale, c, m, n, k);
}

/// One launch, of a B that lies along k already; matrices whose rows do not begin at multiples of 16 bytes are copied before.
template <class Job>
void multiply_matrices_along_k(const void* a, const void* turned, const float* scale, float* c, int64_t m,
                               int64_t n, int64_t k) {
  const AlignedRows<uint8_t> rows(a, m, k), columns(turned, n, k);
  multiply_rows_of_bytes<Job>(rows.data(), columns.data(), rows.stride(), scale, c, m, n, k);
}

}  // namespace klab::hopper

#endif  // !KLAB_SIMT
