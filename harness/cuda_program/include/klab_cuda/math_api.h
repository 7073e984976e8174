// CUDA Math API: functions that few programs use. tests/cuda_program/math_api.py holds the list to a toolkit's headers.
#pragma once

#include <math.h>
#include <stdint.h>

#include <klab_cuda/packed.h>

#include "harness/simt/intrinsics.h"
#include "harness/simt/vector_types.h"
#include "harness/simt/warp.h"

// Conversions.
namespace klab::program {
KLAB_SIMT_INLINE float next_number(float x, int direction) {
  return nextafterf(x, direction > 0 ? INFINITY : -INFINITY);
}
KLAB_SIMT_INLINE double next_number(double x, int direction) {
  return nextafter(x, direction > 0 ? INFINITY : -INFINITY);
}
/// Converts an integer in a direction: -1 down, 0 toward zero, 1 up.
template <class Float, class Integer>
KLAB_SIMT_INLINE Float float_toward(Integer x, int direction) {
  const auto nearest = Float(x);
  const auto rounded = (long double)(nearest), exact = (long double)(x);  // has at least 64 digits
  if (direction == 0) direction = x < 0 ? 1 : -1;
  if (direction > 0 ? rounded < exact : rounded > exact) return next_number(nearest, direction);
  return nearest;
}
}  // namespace klab::program
#define KLAB_DIRECTED_FROM(F, f, I, i, suffix, direction) \
  KLAB_SIMT_INLINE F __##i##2##f##_##suffix(I x) { return klab::program::float_toward<F>(x, direction); }
#define KLAB_DIRECTED_FROM_WIDE(suffix, direction)                             \
  KLAB_DIRECTED_FROM(float, float, long long, ll, suffix, direction)           \
  KLAB_DIRECTED_FROM(double, double, long long, ll, suffix, direction)         \
  KLAB_DIRECTED_FROM(float, float, unsigned long long, ull, suffix, direction) \
  KLAB_DIRECTED_FROM(double, double, unsigned long long, ull, suffix, direction)
KLAB_DIRECTED_FROM_WIDE(rz, 0)
KLAB_DIRECTED_FROM_WIDE(ru, 1)
KLAB_DIRECTED_FROM_WIDE(rd, -1)
#undef KLAB_DIRECTED_FROM_WIDE
#undef KLAB_DIRECTED_FROM
KLAB_SIMT_INLINE unsigned long long __float2ull_rd(float x) {
  return klab::simt::saturated<unsigned long long>(floorf(x));
}
KLAB_SIMT_INLINE unsigned long long __float2ull_ru(float x) {
  return klab::simt::saturated<unsigned long long>(ceilf(x));
}
KLAB_SIMT_INLINE unsigned long long __double2ull_rd(double x) {
  return klab::simt::saturated<unsigned long long>(floor(x));
}
KLAB_SIMT_INLINE unsigned long long __double2ull_ru(double x) {
  return klab::simt::saturated<unsigned long long>(ceil(x));
}
KLAB_SIMT_INLINE unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
KLAB_SIMT_INLINE unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
KLAB_SIMT_INLINE unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }

// Products of two 16-bit numbers with two bytes, the lower two or the upper two.
#define KLAB_DP2A(T, Wide, Narrow, Wides, Narrows)                                                        \
  KLAB_SIMT_INLINE T __dp2a_lo(T a, T b, T c) {                                                           \
    return c + T(Wide(a)) * T(Narrow(b)) + T(Wide(a >> 16)) * T(Narrow(b >> 8));                          \
  }                                                                                                       \
  KLAB_SIMT_INLINE T __dp2a_hi(T a, T b, T c) { return __dp2a_lo(a, b >> 16, c); }                        \
  KLAB_SIMT_INLINE T __dp2a_lo(Wides a, Narrows b, T c) { return c + T(a.x) * T(b.x) + T(a.y) * T(b.y); } \
  KLAB_SIMT_INLINE T __dp2a_hi(Wides a, Narrows b, T c) { return c + T(a.x) * T(b.z) + T(a.y) * T(b.w); } \
  KLAB_SIMT_INLINE T __dp4a(Narrows a, Narrows b, T c) {                                                  \
    return c + T(a.x) * T(b.x) + T(a.y) * T(b.y) + T(a.z) * T(b.z) + T(a.w) * T(b.w);                     \
  }
KLAB_DP2A(int, int16_t, int8_t, short2, char4)
KLAB_DP2A(unsigned, uint16_t, uint8_t, ushort2, uchar4)
#undef KLAB_DP2A

// Minimum and maximum of three, after a sum, not below 0, and with the choice. s32, u32: numbers; s16x2, u16x2: pairs in a word.
namespace klab::program {
/// Applies `each` to the halves of three words.
template <class T, class F>
KLAB_SIMT_INLINE unsigned packed_three(unsigned a, unsigned b, unsigned c, F each) {
  const unsigned low = unsigned(each(T(a), T(b), T(c))) & 0xFFFF;
  return low | unsigned(each(T(a >> 16), T(b >> 16), T(c >> 16))) << 16;
}
}  // namespace klab::program
#define KLAB_THREE(name, T, pairs, P, number, N, op)                                                         \
  KLAB_SIMT_INLINE N __vi##name##3_##number(N a, N b, N c) { return op(op(a, b), c); }                       \
  KLAB_SIMT_INLINE N __viadd##name##_##number(N a, N b, N c) { return op(N(unsigned(a) + unsigned(b)), c); } \
  KLAB_SIMT_INLINE unsigned __vi##name##3_##pairs(unsigned a, unsigned b, unsigned c) {                      \
    return klab::program::packed_three<P>(a, b, c, [](T x, T y, T z) { return op(op(x, y), z); });           \
  }                                                                                                          \
  KLAB_SIMT_INLINE unsigned __viadd##name##_##pairs(unsigned a, unsigned b, unsigned c) {                    \
    return klab::program::packed_three<P>(a, b, c, [](T x, T y, T z) { return op(T(P(x + y)), z); });        \
  }                                                                                                          \
  KLAB_SIMT_INLINE N __vib##name##_##number(N a, N b, bool* first) {                                         \
    *first = op(a, b) == a;                                                                                  \
    return op(a, b);                                                                                         \
  }                                                                                                          \
  KLAB_SIMT_INLINE unsigned __vib##name##_##pairs(unsigned a, unsigned b, bool* high, bool* low) {           \
    *low = op(T(P(a)), T(P(b))) == T(P(a));                                                                  \
    *high = op(T(P(a >> 16)), T(P(b >> 16))) == T(P(a >> 16));                                               \
    return klab::program::packed_three<P>(a, b, 0, [](T x, T y, T) { return op(x, y); });                    \
  }
KLAB_THREE(max, int, s16x2, int16_t, s32, int, max)
KLAB_THREE(min, int, s16x2, int16_t, s32, int, min)
KLAB_THREE(max, int, u16x2, uint16_t, u32, unsigned, max)
KLAB_THREE(min, int, u16x2, uint16_t, u32, unsigned, min)
#undef KLAB_THREE
#define KLAB_NOT_BELOW_ZERO(name, op)                                                        \
  KLAB_SIMT_INLINE int __vi##name##_s32_relu(int a, int b) { return max(op(a, b), 0); }      \
  KLAB_SIMT_INLINE int __vi##name##3_s32_relu(int a, int b, int c) {                         \
    return max(__vi##name##3_s32(a, b, c), 0);                                               \
  }                                                                                          \
  KLAB_SIMT_INLINE int __viadd##name##_s32_relu(int a, int b, int c) {                       \
    return max(__viadd##name##_s32(a, b, c), 0);                                             \
  }                                                                                          \
  KLAB_SIMT_INLINE unsigned __vi##name##_s16x2_relu(unsigned a, unsigned b) {                \
    return __vmaxs2(__v##name##s2(a, b), 0);                                                 \
  }                                                                                          \
  KLAB_SIMT_INLINE unsigned __vi##name##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {   \
    return __vmaxs2(__vi##name##3_s16x2(a, b, c), 0);                                        \
  }                                                                                          \
  KLAB_SIMT_INLINE unsigned __viadd##name##_s16x2_relu(unsigned a, unsigned b, unsigned c) { \
    return __vmaxs2(__viadd##name##_s16x2(a, b, c), 0);                                      \
  }
KLAB_NOT_BELOW_ZERO(max, max)
KLAB_NOT_BELOW_ZERO(min, min)
#undef KLAB_NOT_BELOW_ZERO

// Functions of real numbers.
KLAB_SIMT_INLINE void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
KLAB_SIMT_INLINE void sincospi(float x, float* s, float* c) { sincospif(x, s, c); }
KLAB_SIMT_INLINE double fdivide(double a, double b) { return a / b; }
#define KLAB_SAME_ROUNDING(suffix) \
  KLAB_SIMT_INLINE float __fmaf_ieee_##suffix(float a, float b, float c) { return __fmaf_##suffix(a, b, c); }
KLAB_SAME_ROUNDING(rn)
KLAB_SAME_ROUNDING(rz)
KLAB_SAME_ROUNDING(ru)
KLAB_SAME_ROUNDING(rd)
#undef KLAB_SAME_ROUNDING
KLAB_SIMT_INLINE double norm(int n, const double* x) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += x[k] * x[k];
  return sqrt(sum);
}
KLAB_SIMT_INLINE double rnorm(int n, const double* x) { return 1.0 / norm(n, x); }
KLAB_SIMT_INLINE float normf(int n, const float* x) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += double(x[k]) * double(x[k]);
  return float(sqrt(sum));
}
KLAB_SIMT_INLINE float rnormf(int n, const float* x) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += double(x[k]) * double(x[k]);
  return float(1.0 / sqrt(sum));
}
KLAB_SIMT_INLINE double rnorm4d(double a, double b, double c, double d) {
  return 1.0 / sqrt(a * a + b * b + c * c + d * d);
}
KLAB_SIMT_INLINE float rnorm4df(float a, float b, float c, float d) { return float(rnorm4d(a, b, c, d)); }

/// exp(x * x) * erfc(x). Behind 12 by its asymptotic series, whose terms fall there for as long as is needed.
KLAB_SIMT_INLINE double erfcx(double x) {
  if (x < 12) {
    const double square = x * x;
    return exp(square) * (1 + fma(x, x, -square)) * erfc(x);
  }
  const double by = -0.5 / x / x;
  double term = 1, sum = 1;
  for (int k = 1; k <= 14; ++k) sum += term *= by * (2 * k - 1);
  return sum * 0.56418958354775628695 / x;
}
KLAB_SIMT_INLINE float erfcxf(float x) { return float(erfcx(double(x))); }
/// The x with erfc(x) = q: Newton's method with the second derivative (Halley).
KLAB_SIMT_INLINE double erfcinv(double q) {
  if (!(q > 0 && q < 2)) return q == 0 ? INFINITY : q == 2 ? -INFINITY : NAN;
  const double least = q < 1 ? q : 2 - q, t = sqrt(-2 * log(least / 2));
  double x = 0.70711 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
  for (int k = 0; k < 4; ++k) {
    // The ratio of the error and the slope, which both are very small where x is large.
    const double wanted = x < 5 ? least * exp(x * x) : exp(x * x + log(least));
    const double ratio = (erfcx(x) - wanted) / 1.12837916709551257390;
    x += ratio / (1 - x * ratio);
  }
  return q < 1 ? x : -x;
}
KLAB_SIMT_INLINE double erfinv(double p) {
  if (!(fabs(p) < 0.5)) return p < 0 ? -erfcinv(1 + p) : erfcinv(1 - p);
  double x = 0.88622692545275801365 * p;
  for (int k = 0; k < 4; ++k) {
    const double ratio = (p - erf(x)) * exp(x * x) / 1.12837916709551257390;
    x += ratio / (1 - x * ratio);
  }
  return x;
}
KLAB_SIMT_INLINE double normcdfinv(double p) { return -1.41421356237309504880 * erfcinv(2 * p); }
KLAB_SIMT_INLINE float erfcinvf(float q) { return float(erfcinv(double(q))); }
KLAB_SIMT_INLINE float erfinvf(float p) { return float(erfinv(double(p))); }
KLAB_SIMT_INLINE float normcdfinvf(float p) { return float(normcdfinv(double(p))); }
namespace klab::program {
/// A modified Bessel function of the first kind, of order 0 or 1: its power series, all of whose terms are positive.
KLAB_SIMT_INLINE double bessel_i(int order, double x) {
  const double square = x * x / 4;
  double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; fabs(term) > fabs(sum) * 1e-17; ++k) sum += term *= square / k / (k + order);
  return sum;
}
}  // namespace klab::program
KLAB_SIMT_INLINE double cyl_bessel_i0(double x) { return klab::program::bessel_i(0, x); }
KLAB_SIMT_INLINE double cyl_bessel_i1(double x) { return klab::program::bessel_i(1, x); }
KLAB_SIMT_INLINE float cyl_bessel_i0f(float x) { return float(klab::program::bessel_i(0, x)); }
KLAB_SIMT_INLINE float cyl_bessel_i1f(float x) { return float(klab::program::bessel_i(1, x)); }

// Barriers, votes, loads. Named barriers are in ptx.h.
KLAB_SIMT_INLINE int syncthreads_count(int predicate) { return __syncthreads_count(predicate); }
KLAB_SIMT_INLINE bool syncthreads_and(int predicate) { return __syncthreads_and(predicate) != 0; }
KLAB_SIMT_INLINE bool syncthreads_or(int predicate) { return __syncthreads_or(predicate) != 0; }
KLAB_SIMT_INLINE void __threadfence_cluster() { klab::simt::fence(true); }
KLAB_SIMT_INLINE int __uni_sync(unsigned mask, int predicate) {
  const unsigned yes = __ballot_sync(mask, predicate);
  return int(yes == 0 || yes == mask);
}
/// ld.cv: fetched again each time, as through volatile.
template <class T>
KLAB_SIMT_INLINE T __ldcv(const T* p) {
  if constexpr (__is_class(T))
    return *p;
  else
    return *static_cast<const volatile T*>(p);
}

// Vectors of CUDA 13 with the alignment in their names.
#define KLAB_ALIGNED_VECTOR(Name, T, alignment)                                                    \
  struct alignas(alignment) Name {                                                                 \
    T x, y, z, w;                                                                                  \
    KLAB_SIMT_WHOLE(Name)                                                                          \
    KLAB_SIMT_INLINE constexpr Name(T a, T b = {}, T c = {}, T d = {}) : x(a), y(b), z(c), w(d) {} \
  };                                                                                               \
  KLAB_SIMT_INLINE constexpr Name make_##Name(T a, T b, T c, T d) { return {a, b, c, d}; }
#define KLAB_ALIGNED_VECTORS(name, T)     \
  KLAB_ALIGNED_VECTOR(name##4_16a, T, 16) \
  KLAB_ALIGNED_VECTOR(name##4_32a, T, 32)
KLAB_ALIGNED_VECTORS(long, long)
KLAB_ALIGNED_VECTORS(ulong, unsigned long)
KLAB_ALIGNED_VECTORS(longlong, long long)
KLAB_ALIGNED_VECTORS(ulonglong, unsigned long long)
KLAB_ALIGNED_VECTORS(double, double)
#undef KLAB_ALIGNED_VECTORS
#undef KLAB_ALIGNED_VECTOR
