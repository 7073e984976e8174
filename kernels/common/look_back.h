// Sums over all tiles before one's own, in a single pass: a block looks back at the words that earlier tiles publish.
//
// Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", NVIDIA 2016. A block takes a tile,
// adds it up and publishes that sum in the tile's word. It then reads the words before its own, from the nearest
// backward, until it finds one that holds the sum of everything up to there, and publishes its own sum of everything.
//
//   cuda::LookBack back{scratch.as<unsigned long long>()};   LookBack::bytes(tiles) bytes, cleared before each launch
//   const unsigned tile = back.take_tile();                     all threads of the block
//   const unsigned before = back.sum_before(tile, own, add);    all lanes of one warp
//
// Forward progress: a tile's number is a ticket drawn from a counter. The block that draws it already runs, so a block waits
// only for running or ended ones. A block that took blockIdx as its tile could wait for one that has no room until
// it ends.
//
// Memory order: a word holds a state and a sum, and one store of 8 bytes publishes both. Nothing else passes from tile
// to tile, so volatile accesses, which PTX defines as relaxed and strong, are enough; there is no fence.
//
// The executor runs blocks in the order of their tickets. It checks values, races and the order of tickets; since
// earlier blocks have ended, it never finds a tile that has only its own sum. tests/simt/test_look_back.cpp sets
// such words by hand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda.h"

namespace klab::cuda {
namespace {  // shared memory must be each file's own

/// Inclusive sums within a warp. All lanes call it.
template <class Add>
__device__ __forceinline__ unsigned scan_warp(unsigned value, Add add) {
  const int lane = int(threadIdx.x) % 32;
  for (int by = 1; by < 32; by *= 2) {
    const unsigned lower = __shfl_up_sync(~0U, value, by);
    if (lane >= by) value = add(lower, value);
  }
  return value;
}

/// Adds numbers up to capacity + 1, which 32 bits hold if capacity is below 2^31. A larger sum does not fit.
struct AddUpTo {
  unsigned capacity;
  __device__ __forceinline__ unsigned operator()(unsigned a, unsigned b) const {
    return a + min(b, capacity + 1 - a);
  }
  __device__ __forceinline__ bool fits(unsigned sum) const { return sum <= capacity; }
};

/// The tickets and words of one scan.
struct LookBack {
  unsigned long long* memory;  // the counter of tickets, the end, a word a tile; zero before the launch

  enum State : unsigned { kNothing = 0, kOwnSum = 1, kWholeSum = 2 };

  static constexpr size_t bytes(int64_t tiles) { return size_t(tiles + 2) * sizeof(unsigned long long); }

  static __device__ __forceinline__ State state_of(unsigned long long word) { return State(word >> 32); }
  static __device__ __forceinline__ unsigned long long word_of(State state, unsigned sum) {
    return static_cast<unsigned long long>(state) << 32 | sum;
  }
  __device__ __forceinline__ volatile unsigned long long* words() const { return memory + 2; }

  /// Draws the block's tile. All threads call it, once; it contains a barrier.
  __device__ __forceinline__ unsigned take_tile() const {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(reinterpret_cast<unsigned*>(memory), 1U);
    __syncthreads();
    return ticket;
  }

  /// Publishes the tile's own sum and returns that of all tiles before it. All lanes of one warp call it. `add` must be
  /// associative and commutative, with 0 as its zero.
  template <class Add>
  __device__ __forceinline__ unsigned sum_before(unsigned tile, unsigned own, Add add) const {
    const int lane = int(threadIdx.x) % 32;
    if (lane == 0) words()[tile] = word_of(tile == 0 ? kWholeSum : kOwnSum, own);
    if (tile == 0) return 0;
    unsigned before = 0;
    for (int nearest = int(tile) - 1;; nearest -= 32) {
      const int mine = nearest - lane;  // lanes before tile 0 have nothing to add
      const volatile unsigned long long* const at = words() + max(mine, 0);
      unsigned long long word = mine < 0 ? word_of(kWholeSum, 0) : *at;
      unsigned whole = 0, counted = 0;  // lanes with a whole sum; lanes up to the first of them
      for (;;) {
        whole = __ballot_sync(~0U, state_of(word) == kWholeSum);
        counted = whole == 0 ? ~0U : whole ^ (whole - 1);
        if ((__ballot_sync(~0U, state_of(word) == kNothing) & counted) == 0) break;
        if (state_of(word) == kNothing) word = *at;
      }
      unsigned sum = (counted >> lane & 1) != 0 ? unsigned(word) : 0;
      for (int by = 16; by > 0; by /= 2) sum = add(sum, __shfl_xor_sync(~0U, sum, by));
      before = add(before, sum);
      if (whole != 0) break;
    }
    if (lane == 0) words()[tile] = word_of(kWholeSum, add(before, own));
    return before;
  }

  /// For items that get a place only if they and all before them fit: the tile in which one does not fit publishes the
  /// last sum that does, the end of them all.
  __device__ __forceinline__ void publish_end(unsigned sum) const {
    *const_cast<volatile unsigned long long*>(memory + 1) = 1ULL << 32 | sum;
  }
  /// Returns that sum to tiles behind, whose own sum before them does not fit. One thread calls it.
  __device__ __forceinline__ unsigned wait_for_end() const {
    const volatile unsigned long long* const at = memory + 1;
    unsigned long long word = *at;
    while (word == 0) word = *at;
    return unsigned(word);
  }
};

/// Look backs of many counts side by side, a thread a count: 32 bits a word, so counts are below 2^30.
struct LookBackCounts {
  unsigned* words;  // [tiles,columns]; zero before the launch
  int columns;

  static constexpr unsigned kOwn = 1U << 30, kWhole = 2U << 30, kCount = kOwn - 1;

  __device__ __forceinline__ volatile unsigned* at(int tile, int column) const {
    return words + int64_t(tile) * columns + column;
  }
  __device__ __forceinline__ void publish_own(int tile, int column, unsigned count) const {
    *at(tile, column) = (tile == 0 ? kWhole : kOwn) | count;
  }

  /// Returns the sum of earlier tiles' counts and publishes that up to this one. `window` words are read at once.
  template <int window>
  __device__ __forceinline__ unsigned sum_before(int tile, int column, unsigned own) const {
    unsigned before = 0;
    bool whole = tile == 0;
    for (int nearest = tile - 1; !whole; nearest -= window) {
      unsigned word[window];
#pragma unroll
      for (int k = 0; k < window; ++k) word[k] = *at(max(nearest - k, 0), column);
#pragma unroll
      for (int k = 0; k < window; ++k) {
        if (whole) continue;
        while (word[k] < kOwn) word[k] = *at(nearest - k, column);
        before += word[k] & kCount;
        whole = word[k] >= kWhole;  // tile 0 has it at the latest
      }
    }
    if (tile > 0) *at(tile, column) = kWhole | (before + own);
    return before;
  }
};

}  // namespace
}  // namespace klab::cuda
