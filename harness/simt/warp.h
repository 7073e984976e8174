// CUDA's synchronization, warp and atomic functions for a host compiler.
#pragma once

// clock() is declared by the C library. The executor's definition (runtime.cpp) distinguishes kernels from
// host code.
#include <time.h>

#include <type_traits>

#include "harness/simt/half.h"
#include "harness/simt/language.h"
#include "harness/simt/used_result.h"

// Captures the place of the call, for findings.
#define KLAB_SIMT_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

KLAB_SIMT_INLINE void __syncthreads(KLAB_SIMT_HERE) {
  klab::simt::barrier(klab::simt::Vote::sync, 0, file, line);
}
KLAB_SIMT_INLINE int __syncthreads_count(int predicate, KLAB_SIMT_HERE) {
  return klab::simt::barrier(klab::simt::Vote::count, predicate, file, line);
}
KLAB_SIMT_INLINE int __syncthreads_and(int predicate, KLAB_SIMT_HERE) {
  return klab::simt::barrier(klab::simt::Vote::all, predicate, file, line);
}
KLAB_SIMT_INLINE int __syncthreads_or(int predicate, KLAB_SIMT_HERE) {
  return klab::simt::barrier(klab::simt::Vote::any, predicate, file, line);
}
KLAB_SIMT_INLINE void __syncwarp(unsigned mask = ~0u, KLAB_SIMT_HERE) {
  klab::simt::meet(klab::simt::Meeting::syncwarp, mask, nullptr, nullptr, "__syncwarp", file, line);
}
KLAB_SIMT_INLINE void __threadfence() { klab::simt::fence(true); }
KLAB_SIMT_INLINE void __threadfence_system() { klab::simt::fence(true); }
KLAB_SIMT_INLINE void __threadfence_block() { klab::simt::fence(false); }
KLAB_SIMT_INLINE void __nanosleep(unsigned) { klab::simt::pause(); }
KLAB_SIMT_INLINE void __trap(KLAB_SIMT_HERE) { klab::simt::trap(file, line); }
KLAB_SIMT_INLINE long long clock64() { return (long long)(klab::simt::clock_ticks()); }

namespace klab::simt {
template <class T>
KLAB_SIMT_INLINE uint64_t to_bits(T x) {
  static_assert(sizeof(T) <= 8, "warp functions take values of at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof(T));
  return bits;
}
template <class T>
KLAB_SIMT_INLINE T from_bits(uint64_t bits) {
  T x;
  __builtin_memcpy(static_cast<void*>(&x), &bits, sizeof(T));
  return x;
}
}  // namespace klab::simt

template <class T>
KLAB_SIMT_INLINE T __shfl_sync(unsigned mask, T value, int from, int width = 32, KLAB_SIMT_HERE) {
  return klab::simt::from_bits<T>(klab::simt::shuffle(
      klab::simt::Shuffle::index, mask, klab::simt::to_bits(value), from, width, "__shfl_sync", file, line));
}
template <class T>
KLAB_SIMT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, KLAB_SIMT_HERE) {
  return klab::simt::from_bits<T>(klab::simt::shuffle(klab::simt::Shuffle::up, mask,
                                                      klab::simt::to_bits(value), int(by), width,
                                                      "__shfl_up_sync", file, line));
}
template <class T>
KLAB_SIMT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, KLAB_SIMT_HERE) {
  return klab::simt::from_bits<T>(klab::simt::shuffle(klab::simt::Shuffle::down, mask,
                                                      klab::simt::to_bits(value), int(by), width,
                                                      "__shfl_down_sync", file, line));
}
template <class T>
KLAB_SIMT_INLINE T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, KLAB_SIMT_HERE) {
  return klab::simt::from_bits<T>(klab::simt::shuffle(klab::simt::Shuffle::exclusive_or, mask,
                                                      klab::simt::to_bits(value), bits, width,
                                                      "__shfl_xor_sync", file, line));
}
KLAB_SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate, KLAB_SIMT_HERE) {
  return klab::simt::ballot(mask, predicate != 0, "__ballot_sync", file, line);
}
KLAB_SIMT_INLINE int __any_sync(unsigned mask, int predicate, KLAB_SIMT_HERE) {
  return klab::simt::ballot(mask, predicate != 0, "__any_sync", file, line) != 0;
}
KLAB_SIMT_INLINE int __all_sync(unsigned mask, int predicate, KLAB_SIMT_HERE) {
  return klab::simt::ballot(mask, predicate == 0, "__all_sync", file, line) == 0;
}
template <class T>
KLAB_SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value, KLAB_SIMT_HERE) {
  return klab::simt::match_any(mask, klab::simt::to_bits(value), file, line);
}
template <class T>
KLAB_SIMT_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all, KLAB_SIMT_HERE) {
  const unsigned same = klab::simt::match_any(mask, klab::simt::to_bits(value), file, line);
  const bool every = klab::simt::ballot(mask, same == mask, "__match_all_sync", file, line) == mask;
  *all = every;
  return every ? mask : 0;
}
KLAB_SIMT_INLINE unsigned __activemask(KLAB_SIMT_HERE) { return klab::simt::active_mask(file, line); }

#define KLAB_SIMT_REDUCE(name, how)                                                                          \
  KLAB_SIMT_INLINE int name(unsigned mask, int value, KLAB_SIMT_HERE) {                                      \
    return int(klab::simt::reduce(klab::simt::Reduce::how, true, mask, uint32_t(value), #name, file, line)); \
  }                                                                                                          \
  KLAB_SIMT_INLINE unsigned name(unsigned mask, unsigned value, KLAB_SIMT_HERE) {                            \
    return klab::simt::reduce(klab::simt::Reduce::how, false, mask, value, #name, file, line);               \
  }
KLAB_SIMT_REDUCE(__reduce_add_sync, add)
KLAB_SIMT_REDUCE(__reduce_min_sync, min)
KLAB_SIMT_REDUCE(__reduce_max_sync, max)
KLAB_SIMT_REDUCE(__reduce_and_sync, bit_and)
KLAB_SIMT_REDUCE(__reduce_or_sync, bit_or)
KLAB_SIMT_REDUCE(__reduce_xor_sync, bit_xor)

// Atomics return the old value. An exchange and a comparison are atomics even if nothing uses it; the others are reductions then.
namespace klab::simt {
template <class T>
KLAB_SIMT_INLINE T called_atomic(Atomic how, T* p, T value, T expected) {
  if constexpr (std::is_same_v<T, float>) {
    return atomic_f32(how, p, value);
  } else if constexpr (std::is_same_v<T, double>) {
    return atomic_f64(how, p, value);
  } else if constexpr (sizeof(T) == 8) {
    return T(atomic_u64(how, reinterpret_cast<uint64_t*>(p), uint64_t(value), uint64_t(expected),
                        std::is_signed_v<T>));
  } else if constexpr (std::is_signed_v<T>) {
    return T(atomic_i32(how, reinterpret_cast<int32_t*>(p), uint32_t(value), uint32_t(expected)));
  } else {
    return T(atomic_u32(how, reinterpret_cast<uint32_t*>(p), uint32_t(value), uint32_t(expected)));
  }
}
template <class T>
KLAB_SIMT_INLINE T atomic(Atomic how, T* p, T value, T expected = T()) {
  if (how == Atomic::exchange || how == Atomic::compare) return called_atomic(how, p, value, expected);
  if (__builtin_constant_p(value)) how = Atomic(int(how) | kConstantOperand);
  const T old = called_atomic(how, p, value, expected);
  atomic_called();
  return if_used(old);
}
/// Adds two numbers of 16 bits.
KLAB_SIMT_INLINE uint32_t add_pair(uint32_t* p, uint32_t value, bool bfloat16) {
  const uint32_t old = bfloat16 ? atomic_bfloat162(p, value) : atomic_half2(p, value);
  atomic_called();
  return if_used(old);
}
/// Adds one.
KLAB_SIMT_INLINE uint16_t add_one(uint16_t* p, uint16_t value, bool bfloat16) {
  const uint16_t old = bfloat16 ? atomic_bfloat16(p, value) : atomic_half(p, value);
  atomic_called();
  return if_used(old);
}
}  // namespace klab::simt
#define KLAB_SIMT_ATOMIC(name, how, T) \
  KLAB_SIMT_INLINE T name(T* p, T value) { return klab::simt::atomic<T>(klab::simt::Atomic::how, p, value); }
#define KLAB_SIMT_ATOMIC_WHOLE(name, how)    \
  KLAB_SIMT_ATOMIC(name, how, int)           \
  KLAB_SIMT_ATOMIC(name, how, unsigned)      \
  KLAB_SIMT_ATOMIC(name, how, long)          \
  KLAB_SIMT_ATOMIC(name, how, unsigned long) \
  KLAB_SIMT_ATOMIC(name, how, long long)     \
  KLAB_SIMT_ATOMIC(name, how, unsigned long long)
KLAB_SIMT_ATOMIC_WHOLE(atomicAdd, add)
KLAB_SIMT_ATOMIC(atomicAdd, add, float)
KLAB_SIMT_ATOMIC(atomicAdd, add, double)
KLAB_SIMT_ATOMIC_WHOLE(atomicMax, max)
KLAB_SIMT_ATOMIC_WHOLE(atomicMin, min)
KLAB_SIMT_ATOMIC_WHOLE(atomicExch, exchange)
KLAB_SIMT_ATOMIC(atomicExch, exchange, float)
KLAB_SIMT_ATOMIC_WHOLE(atomicAnd, bit_and)
KLAB_SIMT_ATOMIC_WHOLE(atomicOr, bit_or)
KLAB_SIMT_ATOMIC_WHOLE(atomicXor, bit_xor)
KLAB_SIMT_INLINE int atomicSub(int* p, int v) { return atomicAdd(p, -v); }
KLAB_SIMT_INLINE unsigned atomicSub(unsigned* p, unsigned v) { return atomicAdd(p, 0u - v); }
namespace klab::simt {
template <class T>
struct Same {
  using type = T;
};
template <class T>
using NotDeduced = typename Same<T>::type;
}  // namespace klab::simt
template <class T>
KLAB_SIMT_INLINE T atomicCAS(T* p, klab::simt::NotDeduced<T> expected, klab::simt::NotDeduced<T> value) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 4, "atomicCAS takes integers of 4 or 8 bytes");
  return klab::simt::atomic<T>(klab::simt::Atomic::compare, p, value, expected);
}
KLAB_SIMT_INLINE __half2 atomicAdd(__half2* p, __half2 v) {
  return klab::simt::from_bits<__half2>(
      klab::simt::add_pair(reinterpret_cast<uint32_t*>(p), uint32_t(klab::simt::to_bits(v)), false));
}
KLAB_SIMT_INLINE __nv_bfloat162 atomicAdd(__nv_bfloat162* p, __nv_bfloat162 v) {
  return klab::simt::from_bits<__nv_bfloat162>(
      klab::simt::add_pair(reinterpret_cast<uint32_t*>(p), uint32_t(klab::simt::to_bits(v)), true));
}
KLAB_SIMT_INLINE __nv_bfloat16 atomicAdd(__nv_bfloat16* p, __nv_bfloat16 v) {
  __nv_bfloat16 old;
  old.bits = klab::simt::add_one(reinterpret_cast<uint16_t*>(p), v.bits, true);
  return old;
}
KLAB_SIMT_INLINE __half atomicAdd(__half* p, __half v) {
  return __ushort_as_half(klab::simt::add_one(reinterpret_cast<uint16_t*>(p), __half_as_ushort(v), false));
}
