// Fills local variables of kernels that are declared without a value (harness/cuda_compiler/declarations.cpp), so that the
// trace recognizes copies of what was never set.
#pragma once

#include <type_traits>
#include <utility>

#include <klab_cuda/never_set.h>
#include "harness/simt/language.h"
#include "harness/simt/unset.h"

namespace klab::program {

template <unsigned n>
struct UnsetWords {
  uint32_t word[n];
};
/// `doubles`: the words are those of doubles, which are signaling NaNs too.
template <unsigned n, bool doubles = false>
constexpr UnsetWords<n> unset_words() {
  UnsetWords<n> all{};
  for (unsigned k = 0; k < n; ++k)
    all.word[k] = doubles && k % 2 == 1 ? simt::kComputedWord : simt::kUnsetWord;
  return all;
}

template <class T>
struct Held {
  T value;
};
/// Whether a constant of the type can be made of words. Types with pointers or unions cannot.
template <class T, class = void>
inline constexpr bool is_made_of_words = false;
template <class T>
inline constexpr bool
    is_made_of_words<T, std::enable_if_t<(__builtin_bit_cast(Held<T>, unset_words<sizeof(T) / 4>()), true)>> =
        true;

/// The bytes of such words, and of a part of one.
template <unsigned n>
struct UnsetBytes {
  unsigned char byte[n];
};
template <unsigned n>
constexpr UnsetBytes<n> unset_bytes() {
  UnsetBytes<n> all{};
  for (unsigned k = 0; k < n; ++k) all.byte[k] = static_cast<unsigned char>(simt::kUnsetWord >> k % 4 * 8);
  return all;
}

/// CUDA's vectors of 8 and 16 bytes, whose copies are their own.
template <class T, class = void>
inline constexpr int vector_members = 0;
template <class T>
inline constexpr int vector_members<T, std::void_t<decltype(T(std::declval<T>().x, std::declval<T>().y))>> =
    2;
template <class T, class = void>
inline constexpr bool has_four_members = false;
template <class T>
inline constexpr bool has_four_members<T, std::void_t<decltype(std::declval<T>().w)>> = true;

template <class T>
KLAB_SIMT_INLINE void unset(T& v) {
#ifdef KLAB_SIMT_TRACED
  using E = std::remove_all_extents_t<T>;
  // Larger arrays would cost more than they tell.
  if constexpr (std::is_trivially_default_constructible_v<E> && !std::is_const_v<E> &&
                !std::is_volatile_v<E> && sizeof(T) % 4 == 0 &&
                (alignof(T) >= 4 ||
                 (std::is_array_v<T> && std::is_arithmetic_v<E> && !std::is_same_v<E, bool>)) &&
                sizeof(T) <= 1024) {
    if constexpr (!std::is_trivially_copyable_v<E>) {
      if constexpr (!std::is_array_v<T> && vector_members<T> == 2) {
        unset(v.x);
        unset(v.y);
        if constexpr (has_four_members<T>) {
          unset(v.z);
          unset(v.w);
        }
      }
    } else if constexpr (is_made_of_words<T>) {
      // A constant of the same type: the compiler splits the assignment by members.
      constexpr bool doubles = std::is_same_v<E, double>;
      static constexpr Held<T> all = __builtin_bit_cast(Held<T>, unset_words<sizeof(T) / 4, doubles>());
      if constexpr (std::is_array_v<T>)
        reinterpret_cast<Held<T>&>(v) = all;
      else
        v = all.value;
    }
  } else if constexpr (std::is_array_v<T> && std::is_integral_v<E> && sizeof(E) <= 2 && !std::is_const_v<E> &&
                       !std::is_volatile_v<E> && sizeof(T) >= 4 && sizeof(T) <= 1024) {
    static constexpr UnsetBytes<sizeof(T)> all = unset_bytes<sizeof(T)>();
    reinterpret_cast<UnsetBytes<sizeof(T)>&>(v) = all;
  }
#else
  (void)v;
#endif
}

/// used(v, "v"), v is v in a computation, for a variable that nothing sets.
template <class T>
KLAB_SIMT_INLINE void used(const T& v, const char* name) {
#ifdef KLAB_SIMT_TRACED
  using V = std::remove_cv_t<T>;
  if constexpr (std::is_arithmetic_v<V> && (sizeof(V) == 4 || sizeof(V) == 8)) {
    using Bits = std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>;
    const uint64_t bits = __builtin_bit_cast(Bits, static_cast<V>(v));
    // Without a branch, which would count as such. The upper word of a double may be that of a quiet NaN.
    const bool lower = uint32_t(bits) == simt::kUnsetWord,
               upper = (uint32_t(bits >> 32) | simt::kQuietBit) == simt::kComputedWord;
    used_in_computation(lower & (upper | (sizeof(V) == 4)), name);
  }
#else
  (void)v, (void)name;
#endif
}

}  // namespace klab::program
