// What rewritten programs call where C++ on the host and CUDA on a GPU define an expression differently
// (harness/cuda_compiler/expressions.cpp).
#pragma once

#include <type_traits>

#include <klab_cuda/api.h>
#include "harness/simt/language.h"

namespace klab::program {

/// a << b becomes a << Shift() << b. A GPU's shift takes the count as an unsigned number and clamps it: all bits leave
/// at the width of the type, and the sign remains (PTX ISA, shl and shr). The processor takes it modulo the width.
struct Shift {};

template <class T>
KLAB_SIMT_INLINE constexpr T shifted_left(T x, unsigned by) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned width = 8 * sizeof(T);
  // Without branches, which would count as such.
  return T((U(x) << (by & (width - 1))) & (U(0) - U(by < width)));
}
template <class T>
KLAB_SIMT_INLINE constexpr T shifted_right(T x, unsigned by) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned width = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>)
    return T(x >> ((by | (0U - unsigned(by >= width))) & (width - 1)));
  else
    return T((x >> (by & (width - 1))) & (U(0) - U(by < width)));
}

/// Integers, and enumerations that convert to them.
template <class T>
inline constexpr bool is_number = std::is_integral_v<T> ||
                                  (std::is_enum_v<T> && std::is_convertible_v<T, long long>);
template <class T>
using IfNumber = std::enable_if_t<is_number<std::remove_cv_t<T>>, int>;
template <class T>
using IfOther = std::enable_if_t<!is_number<std::remove_cv_t<std::remove_reference_t<T>>>, int>;

template <class T>
struct LeftNumber {
  T x;
};
template <class T>
struct LeftOther {
  T&& x;
};
template <class T>
struct Count {
  T by;
};

#define KLAB_SHIFT(op, function)                                                      \
  template <class L, IfNumber<L> = 0>                                                 \
  KLAB_SIMT_INLINE constexpr auto operator op(L x, Shift) {                           \
    return LeftNumber<decltype(+x)>{+x};                                              \
  }                                                                                   \
  template <class L, IfOther<L> = 0>                                                  \
  KLAB_SIMT_INLINE constexpr LeftOther<L> operator op(L&& x, Shift) {                 \
    return {static_cast<L&&>(x)};                                                     \
  }                                                                                   \
  template <class L, class R, IfNumber<R> = 0>                                        \
  KLAB_SIMT_INLINE constexpr L operator op(LeftNumber<L> left, R by) {                \
    return function(left.x, unsigned(by));                                            \
  }                                                                                   \
  template <class L, class R, IfOther<R> = 0>                                         \
  KLAB_SIMT_INLINE constexpr decltype(auto) operator op(LeftNumber<L> left, R&& by) { \
    return left.x op static_cast<R&&>(by);                                            \
  }                                                                                   \
  template <class L, class R, IfNumber<R> = 0>                                        \
  KLAB_SIMT_INLINE constexpr decltype(auto) operator op(LeftOther<L> left, R by) {    \
    return static_cast<L&&>(left.x) op by;                                            \
  }                                                                                   \
  template <class L, class R, IfOther<R> = 0>                                         \
  KLAB_SIMT_INLINE constexpr decltype(auto) operator op(LeftOther<L> left, R&& by) {  \
    return static_cast<L&&>(left.x) op static_cast<R&&>(by);                          \
  }                                                                                   \
  template <class R>                                                                  \
  KLAB_SIMT_INLINE constexpr auto operator op##=(Shift, R by) {                       \
    return Count<R>{by};                                                              \
  }                                                                                   \
  template <class L, class R>                                                         \
  KLAB_SIMT_INLINE constexpr L& operator op##=(L& x, Count<R> count) {                \
    if constexpr (is_number<std::remove_cv_t<L>> && is_number<R>)                     \
      x = static_cast<L>(function(+x, unsigned(count.by)));                           \
    else                                                                              \
      x op## = count.by;                                                              \
    return x;                                                                         \
  }
KLAB_SHIFT(<<, shifted_left)
KLAB_SHIFT(>>, shifted_right)
#undef KLAB_SHIFT

/// Makes the assignment of what a function returns a copy from the thread's own memory, whose store is watched.
template <class T>
KLAB_SIMT_INLINE constexpr T&& value(T&& x) {
  return static_cast<T&&>(x);
}

/// Records that a call failed whose error the program drops.
void unasked(cudaError_t error, const char* call);
/// f(x); becomes f(x), Unasked("f");
struct Unasked {
  const char* call;
  explicit Unasked(const char* name) : call(name) {}
};
KLAB_SIMT_INLINE void operator,(cudaError_t error, const Unasked& dropped) {
  if (error != cudaSuccess) unasked(error, dropped.call);
}

}  // namespace klab::program
