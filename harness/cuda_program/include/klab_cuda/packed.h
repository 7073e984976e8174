// Two halves or four bytes in a word: all of CUDA's SIMD intrinsics. Their names say what they do (CUDA Math API, SIMD
// Intrinsics): s and u tell signed from unsigned, ss and us saturate.
#pragma once

#include "harness/simt/language.h"

namespace klab::program {
/// Applies `each` to the parts of the words, which are of type T.
template <class T, class F>
KLAB_SIMT_INLINE constexpr unsigned packed(unsigned a, unsigned b, F each) {
  constexpr unsigned bits = 8 * sizeof(T), mask = (1U << bits) - 1;
  unsigned r = 0;
  for (unsigned k = 0; k < 32; k += bits)
    r |= (unsigned(each(int(static_cast<T>(a >> k)), int(static_cast<T>(b >> k)))) & mask) << k;
  return r;
}
/// Clamps to the range of T.
template <class T>
KLAB_SIMT_INLINE constexpr int clamped(int x) {
  constexpr int low = T(-1) < T(0) ? -(1 << (8 * sizeof(T) - 1)) : 0;
  constexpr int high = T(-1) < T(0) ? (1 << (8 * sizeof(T) - 1)) - 1 : (1 << 8 * sizeof(T)) - 1;
  return x < low ? low : x > high ? high : x;
}
template <class T, class F>
KLAB_SIMT_INLINE constexpr unsigned sum_of_packed(unsigned a, unsigned b, F each) {
  constexpr unsigned bits = 8 * sizeof(T);
  unsigned sum = 0;
  for (unsigned k = 0; k < 32; k += bits)
    sum += unsigned(each(int(static_cast<T>(a >> k)), int(static_cast<T>(b >> k))));
  return sum;
}
}  // namespace klab::program

#define KLAB_PACKED(name, T, each)                                                 \
  KLAB_SIMT_INLINE unsigned name(unsigned a, unsigned b) {                         \
    return klab::program::packed<T>(a, b, [](int x, int y) { return int(each); }); \
  }
#define KLAB_PACKED_ONE(name, T, each)                                           \
  KLAB_SIMT_INLINE unsigned name(unsigned a) {                                   \
    return klab::program::packed<T>(a, 0, [](int x, int) { return int(each); }); \
  }
// Comparisons: all bits of the part, or 1 in it.
#define KLAB_PACKED_COMPARE(name, n, T, op)        \
  KLAB_PACKED(__vcmp##name##n, T, x op y ? -1 : 0) \
  KLAB_PACKED(__vset##name##n, T, x op y ? 1 : 0)
#define KLAB_PACKED_ALL(n, S, U)                                                                      \
  KLAB_PACKED(__vadd##n, U, x + y)                                                                    \
  KLAB_PACKED(__vsub##n, U, x - y)                                                                    \
  KLAB_PACKED(__vaddss##n, S, klab::program::clamped<S>(x + y))                                       \
  KLAB_PACKED(__vaddus##n, U, klab::program::clamped<U>(x + y))                                       \
  KLAB_PACKED(__vsubss##n, S, klab::program::clamped<S>(x - y))                                       \
  KLAB_PACKED(__vsubus##n, U, klab::program::clamped<U>(x - y))                                       \
  KLAB_PACKED(__vabsdiffs##n, S, x < y ? y - x : x - y)                                               \
  KLAB_PACKED(__vabsdiffu##n, U, x < y ? y - x : x - y)                                               \
  KLAB_PACKED(__vavgs##n, S, (x + y + (x + y >= 0)) >> 1)                                             \
  KLAB_PACKED(__vavgu##n, U, (x + y + 1) >> 1)                                                        \
  KLAB_PACKED(__vhaddu##n, U, (x + y) >> 1)                                                           \
  KLAB_PACKED(__vmaxs##n, S, x < y ? y : x)                                                           \
  KLAB_PACKED(__vmaxu##n, U, x < y ? y : x)                                                           \
  KLAB_PACKED(__vmins##n, S, x < y ? x : y)                                                           \
  KLAB_PACKED(__vminu##n, U, x < y ? x : y)                                                           \
  KLAB_PACKED_COMPARE(eq, n, U, ==)                                                                   \
  KLAB_PACKED_COMPARE(ne, n, U, !=)                                                                   \
  KLAB_PACKED_COMPARE(ges, n, S, >=)                                                                  \
  KLAB_PACKED_COMPARE(geu, n, U, >=)                                                                  \
  KLAB_PACKED_COMPARE(gts, n, S, >)                                                                   \
  KLAB_PACKED_COMPARE(gtu, n, U, >)                                                                   \
  KLAB_PACKED_COMPARE(les, n, S, <=)                                                                  \
  KLAB_PACKED_COMPARE(leu, n, U, <=)                                                                  \
  KLAB_PACKED_COMPARE(lts, n, S, <)                                                                   \
  KLAB_PACKED_COMPARE(ltu, n, U, <)                                                                   \
  KLAB_PACKED_ONE(__vabs##n, S, x < 0 ? -x : x)                                                       \
  KLAB_PACKED_ONE(__vabsss##n, S, klab::program::clamped<S>(x < 0 ? -x : x))                          \
  KLAB_PACKED_ONE(__vneg##n, S, -x)                                                                   \
  KLAB_PACKED_ONE(__vnegss##n, S, klab::program::clamped<S>(-x))                                      \
  KLAB_SIMT_INLINE unsigned __vsads##n(unsigned a, unsigned b) {                                      \
    return klab::program::sum_of_packed<S>(a, b, [](int x, int y) { return x < y ? y - x : x - y; }); \
  }                                                                                                   \
  KLAB_SIMT_INLINE unsigned __vsadu##n(unsigned a, unsigned b) {                                      \
    return klab::program::sum_of_packed<U>(a, b, [](int x, int y) { return x < y ? y - x : x - y; }); \
  }
KLAB_PACKED_ALL(2, short, unsigned short)
KLAB_PACKED_ALL(4, signed char, unsigned char)
#undef KLAB_PACKED_ALL
#undef KLAB_PACKED_COMPARE
#undef KLAB_PACKED_ONE
#undef KLAB_PACKED
