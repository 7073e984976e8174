// What threads that share a row or a column do together: loads of sixteen bytes, and joins over a warp, a block, a column.
#pragma once

#include "kernels/common/cuda.h"

namespace klab::rows {

constexpr int kBatch = 4;  // loads that a thread has in flight

/// kEach neighbors, moved at once.
template <int kEach>
struct alignas(4 * kEach) Pack {
  float v[kEach];
};
template <int kEach>
__device__ __forceinline__ Pack<kEach> load(const float* p) {
  if constexpr (kEach == 4) {
    const float4 four = *reinterpret_cast<const float4*>(p);
    return {{four.x, four.y, four.z, four.w}};
  } else {
    return {{*p}};
  }
}
template <int kEach>
__device__ __forceinline__ void store(float* p, const Pack<kEach>& a) {
  if constexpr (kEach == 4)
    *reinterpret_cast<float4*>(p) = make_float4(a.v[0], a.v[1], a.v[2], a.v[3]);
  else
    *p = a.v[0];
}

/// Stores as store() does, by one instruction: nvcc splits a store of 16 bytes in a loop that it gives an address for each
/// float.
template <int kEach>
__device__ __forceinline__ void store_whole(float* p, const Pack<kEach>& a) {
#if KLAB_SIMT
  store<kEach>(p, a);
#else
  if constexpr (kEach == 4)
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(a.v[0]), "f"(a.v[1]), "f"(a.v[2]),
                 "f"(a.v[3])
                 : "memory");
  else
    *p = a.v[0];
#endif
}

/// Returns whether all of the arrays begin at a multiple of 16 bytes.
template <class... P>
bool aligned(const P*... p) {
  return ((reinterpret_cast<uintptr_t>(p) % 16 == 0) && ...);
}

/// A row that begins anywhere: [ head, 0 .. 3 ][ four ][ four ] ... [ four ][ tail, 0 .. 3 ]. Where `other`, which is to be
/// moved in step, has its boundaries elsewhere, all of it is head.
struct Cut {
  int head, fours, tail;  // tail: its first column
  __device__ __forceinline__ Cut(const float* row, const float* other, int c) {
    const auto at = reinterpret_cast<uintptr_t>(row), step_with = reinterpret_cast<uintptr_t>(other);
    head = (at - step_with) % 16 == 0 ? min(int(-(at / sizeof(float)) % 4), c) : c;
    fours = (c - head) / 4;
    tail = head + 4 * fours;
  }
};

/// Loads of one thread, none of which is used before all are in flight: packs k, k + step ... that exist; zeros elsewhere.
template <int kEach, int kLoads = kBatch>
struct Batch {
  Pack<kEach> v[kLoads];
  int each;  // packs that exist
  __device__ __forceinline__ Batch(const float* __restrict__ row, int k, int step, int packs) : v{}, each(0) {
#pragma unroll
    for (int b = 0; b < kLoads; ++b)
      if (k + b * step < packs) v[b] = load<kEach>(row + int64_t(k + b * step) * kEach), ++each;
  }
};

/// Joins over all lanes, in all lanes. T has across(by), the value of the lane `by` away, and with(T).
template <class T>
__device__ __forceinline__ T join_lanes(T own) {
  for (int by = 16; by > 0; by /= 2) own = own.with(own.across(by));
  return own;
}

/// Joins over all threads, in all of them, with one barrier. T also has none(). `of_warp` is shared.
template <class T>
__device__ __forceinline__ T join_block(T own, T (&of_warp)[32]) {
  own = join_lanes(own);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) of_warp[warp] = own;
  __syncthreads();
  return join_lanes(lane < blockDim.x / 32 ? of_warp[lane] : T::none());
}

/// Two sums.
struct Sums {
  float a, b;
  static __device__ __forceinline__ Sums none() { return {0, 0}; }
  __device__ __forceinline__ Sums with(Sums o) const { return {a + o.a, b + o.b}; }
  __device__ __forceinline__ Sums across(int by) const {
    return {__shfl_xor_sync(~0U, a, by), __shfl_xor_sync(~0U, b, by)};
  }
};

}  // namespace klab::rows
