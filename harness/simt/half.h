// CUDA's half and bfloat16 for a host compiler: cuda_fp16.h and cuda_bf16.h's names, rounded as the GPU rounds.
//
// Sums, products and quotients of two such numbers are computed in float and rounded once more. That is exact
// rounding for half and bfloat16: a float has more than twice their digits plus two (Figueroa 1995). Fused
// multiply-adds go through double, rounded to odd, for the same reason.
#pragma once

#include "harness/simt/language.h"

namespace klab::simt {
/// Converts an integer to a double that rounds to half and bfloat16 as the integer does: bits that do not fit set the last one.
template <class Integer>
KLAB_SIMT_INLINE constexpr double double_to_odd(Integer x) {
  if (sizeof(Integer) < 8) return double(x);
  const bool negative = x < 0;
  unsigned long long size = negative ? 0 - (unsigned long long)(x) : (unsigned long long)(x);
  if (size >> 53 != 0) size = (size >> 11 << 11) | ((size & 0x7FF) != 0 ? 1ULL << 11 : 0);
  return negative ? -double(size) : double(size);
}
/// Converts the value of a half that is whole. NaN becomes 0, infinities saturate.
KLAB_SIMT_INLINE constexpr int int_from_half(float x) {
  return x != x ? 0 : x > 65504 ? 0x7FFFFFFF : x < -65504 ? -0x7FFFFFFF - 1 : int(x);
}
}  // namespace klab::simt

struct __half {
  uint16_t bits;
  __half() = default;
  KLAB_SIMT_INLINE __half(float x) : bits(klab::simt::half_from_float(x)) {}    // NOLINT: as in CUDA
  KLAB_SIMT_INLINE __half(double x) : bits(klab::simt::half_from_double(x)) {}  // NOLINT
#define KLAB_SIMT_FROM(T)      \
  KLAB_SIMT_INLINE __half(T x) \
      : bits(klab::simt::half_from_double(klab::simt::double_to_odd(x))) {} /* NOLINT */
  KLAB_SIMT_FROM(short)
  KLAB_SIMT_FROM(unsigned short)
  KLAB_SIMT_FROM(int)
  KLAB_SIMT_FROM(unsigned)
  KLAB_SIMT_FROM(long)
  KLAB_SIMT_FROM(unsigned long)
  KLAB_SIMT_FROM(long long)
  KLAB_SIMT_FROM(unsigned long long)
#undef KLAB_SIMT_FROM
  KLAB_SIMT_INLINE operator float() const { return klab::simt::float_from_half(bits); }  // NOLINT
  KLAB_SIMT_INLINE __half& operator+=(__half o) { return *this = __half(float(*this) + float(o)); }
  KLAB_SIMT_INLINE __half& operator-=(__half o) { return *this = __half(float(*this) - float(o)); }
  KLAB_SIMT_INLINE __half& operator*=(__half o) { return *this = __half(float(*this) * float(o)); }
  KLAB_SIMT_INLINE __half& operator/=(__half o) { return *this = __half(float(*this) / float(o)); }
};
struct __nv_bfloat16 {
  uint16_t bits;
  __nv_bfloat16() = default;
  KLAB_SIMT_INLINE __nv_bfloat16(float x) : bits(klab::simt::bfloat16_from_float(x)) {}    // NOLINT
  KLAB_SIMT_INLINE __nv_bfloat16(double x) : bits(klab::simt::bfloat16_from_double(x)) {}  // NOLINT
#define KLAB_SIMT_FROM(T)             \
  KLAB_SIMT_INLINE __nv_bfloat16(T x) \
      : bits(klab::simt::bfloat16_from_double(klab::simt::double_to_odd(x))) {} /* NOLINT */
  KLAB_SIMT_FROM(short)
  KLAB_SIMT_FROM(unsigned short)
  KLAB_SIMT_FROM(int)
  KLAB_SIMT_FROM(unsigned)
  KLAB_SIMT_FROM(long)
  KLAB_SIMT_FROM(unsigned long)
  KLAB_SIMT_FROM(long long)
  KLAB_SIMT_FROM(unsigned long long)
#undef KLAB_SIMT_FROM
  KLAB_SIMT_INLINE operator float() const { return klab::simt::float_from_bfloat16(bits); }  // NOLINT
  KLAB_SIMT_INLINE __nv_bfloat16& operator+=(__nv_bfloat16 o) {
    return *this = __nv_bfloat16(float(*this) + float(o));
  }
  KLAB_SIMT_INLINE __nv_bfloat16& operator-=(__nv_bfloat16 o) {
    return *this = __nv_bfloat16(float(*this) - float(o));
  }
  KLAB_SIMT_INLINE __nv_bfloat16& operator/=(__nv_bfloat16 o) {
    return *this = __nv_bfloat16(float(*this) / float(o));
  }
  KLAB_SIMT_INLINE __nv_bfloat16& operator*=(__nv_bfloat16 o) {
    return *this = __nv_bfloat16(float(*this) * float(o));
  }
};
#ifndef KLAB_CUDA_PROGRAM  // programs get the short names by including cuda_fp16.h and cuda_bf16.h
using half = __half;
using nv_bfloat16 = __nv_bfloat16;
#endif

struct alignas(4) __half2 {
  __half x, y;
  KLAB_SIMT_WHOLE(__half2)
  KLAB_SIMT_INLINE __half2(__half a, __half b) : x(a), y(b) {}
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  KLAB_SIMT_WHOLE(__nv_bfloat162)
  KLAB_SIMT_INLINE __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
};
#ifndef KLAB_CUDA_PROGRAM
using half2 = __half2;
using nv_bfloat162 = __nv_bfloat162;
#endif

KLAB_SIMT_INLINE __half __ushort_as_half(unsigned short bits) {
  __half h;
  h.bits = bits;
  return h;
}
KLAB_SIMT_INLINE unsigned short __half_as_ushort(__half h) { return h.bits; }
KLAB_SIMT_INLINE short __half_as_short(__half h) { return short(h.bits); }
KLAB_SIMT_INLINE __half __short_as_half(short bits) { return __ushort_as_half((unsigned short)(bits)); }
KLAB_SIMT_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 h;
  h.bits = bits;
  return h;
}
KLAB_SIMT_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }

// Conversions.
KLAB_SIMT_INLINE __half __float2half(float x) { return __half(x); }
KLAB_SIMT_INLINE __half __float2half_rn(float x) { return __half(x); }
KLAB_SIMT_INLINE __half __float2half_rz(float x) { return __ushort_as_half(klab::simt::half_toward(x, 0)); }
KLAB_SIMT_INLINE __half __float2half_rd(float x) { return __ushort_as_half(klab::simt::half_toward(x, -1)); }
KLAB_SIMT_INLINE __half __float2half_ru(float x) { return __ushort_as_half(klab::simt::half_toward(x, 1)); }
KLAB_SIMT_INLINE __half __double2half(double x) { return __half(x); }
KLAB_SIMT_INLINE float __half2float(__half h) { return float(h); }
KLAB_SIMT_INLINE __half __int2half_rn(int x) { return __half(x); }
KLAB_SIMT_INLINE __half __uint2half_rn(unsigned x) { return __half(double(x)); }
KLAB_SIMT_INLINE int __half2int_rn(__half h) { return klab::simt::int_from_half(__builtin_rintf(float(h))); }
KLAB_SIMT_INLINE int __half2int_rz(__half h) { return klab::simt::int_from_half(float(h)); }
KLAB_SIMT_INLINE int __half2int_rd(__half h) { return klab::simt::int_from_half(__builtin_floorf(float(h))); }
KLAB_SIMT_INLINE __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
KLAB_SIMT_INLINE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
KLAB_SIMT_INLINE __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
KLAB_SIMT_INLINE float2 __half22float2(__half2 h) { return {float(h.x), float(h.y)}; }
KLAB_SIMT_INLINE __half2 __half2half2(__half h) { return {h, h}; }
KLAB_SIMT_INLINE __half2 __halves2half2(__half a, __half b) { return {a, b}; }
KLAB_SIMT_INLINE __half2 make_half2(__half a, __half b) { return {a, b}; }
KLAB_SIMT_INLINE __half __low2half(__half2 h) { return h.x; }
KLAB_SIMT_INLINE __half __high2half(__half2 h) { return h.y; }
KLAB_SIMT_INLINE float __low2float(__half2 h) { return float(h.x); }
KLAB_SIMT_INLINE float __high2float(__half2 h) { return float(h.y); }
KLAB_SIMT_INLINE __half2 __low2half2(__half2 h) { return {h.x, h.x}; }
KLAB_SIMT_INLINE __half2 __high2half2(__half2 h) { return {h.y, h.y}; }
KLAB_SIMT_INLINE __half2 __lowhigh2highlow(__half2 h) { return {h.y, h.x}; }
KLAB_SIMT_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
KLAB_SIMT_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
KLAB_SIMT_INLINE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
KLAB_SIMT_INLINE __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
KLAB_SIMT_INLINE __nv_bfloat16 __float2bfloat16_rz(float x) {
  return __ushort_as_bfloat16((unsigned short)(__builtin_bit_cast(unsigned, x) >> 16));
}
KLAB_SIMT_INLINE __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
KLAB_SIMT_INLINE float __bfloat162float(__nv_bfloat16 h) { return float(h); }
KLAB_SIMT_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return {__nv_bfloat16(a), __nv_bfloat16(b)};
}
KLAB_SIMT_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) {
  return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)};
}
KLAB_SIMT_INLINE __nv_bfloat162 __float2bfloat162_rn(float a) { return {__nv_bfloat16(a), __nv_bfloat16(a)}; }
KLAB_SIMT_INLINE float2 __bfloat1622float2(__nv_bfloat162 h) { return {float(h.x), float(h.y)}; }
KLAB_SIMT_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 h) { return {h, h}; }
KLAB_SIMT_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
KLAB_SIMT_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 h) { return h.x; }
KLAB_SIMT_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 h) { return h.y; }
KLAB_SIMT_INLINE float __low2float(__nv_bfloat162 h) { return float(h.x); }
KLAB_SIMT_INLINE float __high2float(__nv_bfloat162 h) { return float(h.y); }

// Arithmetic on single numbers and on pairs.
KLAB_SIMT_INLINE __half __hfma(__half a, __half b, __half c) {
  return __ushort_as_half(klab::simt::half_fma(a.bits, b.bits, c.bits));
}
KLAB_SIMT_INLINE __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __ushort_as_bfloat16(klab::simt::bfloat16_fma(a.bits, b.bits, c.bits));
}
#define KLAB_SIMT_HALF_MATH(H, H2)                                                                         \
  KLAB_SIMT_INLINE H __hadd(H a, H b) { return H(float(a) + float(b)); }                                   \
  KLAB_SIMT_INLINE H __hsub(H a, H b) { return H(float(a) - float(b)); }                                   \
  KLAB_SIMT_INLINE H __hmul(H a, H b) { return H(float(a) * float(b)); }                                   \
  KLAB_SIMT_INLINE H __hdiv(H a, H b) { return H(float(a) / float(b)); }                                   \
  KLAB_SIMT_INLINE H __hneg(H a) {                                                                         \
    a.bits ^= 0x8000u;                                                                                     \
    return a;                                                                                              \
  }                                                                                                        \
  KLAB_SIMT_INLINE H __habs(H a) {                                                                         \
    a.bits &= 0x7FFFu;                                                                                     \
    return a;                                                                                              \
  }                                                                                                        \
  KLAB_SIMT_INLINE H __hmax(H a, H b) { return H(__builtin_fmaxf(float(a), float(b))); }                   \
  KLAB_SIMT_INLINE H __hmin(H a, H b) { return H(__builtin_fminf(float(a), float(b))); }                   \
  KLAB_SIMT_INLINE bool __hisnan(H a) { return float(a) != float(a); }                                     \
  KLAB_SIMT_INLINE bool __heq(H a, H b) { return float(a) == float(b); }                                   \
  /* False if one is NaN. */                                                                               \
  KLAB_SIMT_INLINE bool __hne(H a, H b) { return float(a) < float(b) || float(a) > float(b); }             \
  KLAB_SIMT_INLINE bool __hlt(H a, H b) { return float(a) < float(b); }                                    \
  KLAB_SIMT_INLINE bool __hle(H a, H b) { return float(a) <= float(b); }                                   \
  KLAB_SIMT_INLINE bool __hgt(H a, H b) { return float(a) > float(b); }                                    \
  KLAB_SIMT_INLINE bool __hge(H a, H b) { return float(a) >= float(b); }                                   \
  KLAB_SIMT_INLINE H hexp(H a) { return H(__builtin_expf(float(a))); }                                     \
  KLAB_SIMT_INLINE H hlog(H a) { return H(__builtin_logf(float(a))); }                                     \
  KLAB_SIMT_INLINE H hsqrt(H a) { return H(__builtin_sqrtf(float(a))); }                                   \
  KLAB_SIMT_INLINE H hrcp(H a) { return H(1.0f / float(a)); }                                              \
  KLAB_SIMT_INLINE H2 __hadd2(H2 a, H2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }                 \
  KLAB_SIMT_INLINE H2 __hsub2(H2 a, H2 b) { return {__hsub(a.x, b.x), __hsub(a.y, b.y)}; }                 \
  KLAB_SIMT_INLINE H2 __hmul2(H2 a, H2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }                 \
  KLAB_SIMT_INLINE H2 __h2div(H2 a, H2 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }                 \
  KLAB_SIMT_INLINE H2 __hneg2(H2 a) { return {__hneg(a.x), __hneg(a.y)}; }                                 \
  KLAB_SIMT_INLINE H2 __habs2(H2 a) { return {__habs(a.x), __habs(a.y)}; }                                 \
  KLAB_SIMT_INLINE H2 __hmax2(H2 a, H2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                 \
  KLAB_SIMT_INLINE H2 __hmin2(H2 a, H2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                 \
  KLAB_SIMT_INLINE H2 __hfma2(H2 a, H2 b, H2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  KLAB_SIMT_INLINE H2 h2exp(H2 a) { return {hexp(a.x), hexp(a.y)}; }                                       \
  KLAB_SIMT_INLINE H operator+(H a, H b) { return __hadd(a, b); }                                          \
  KLAB_SIMT_INLINE H operator-(H a, H b) { return __hsub(a, b); }                                          \
  KLAB_SIMT_INLINE H operator*(H a, H b) { return __hmul(a, b); }                                          \
  KLAB_SIMT_INLINE H operator/(H a, H b) { return __hdiv(a, b); }                                          \
  KLAB_SIMT_INLINE H operator-(H a) { return __hneg(a); }                                                  \
  KLAB_SIMT_INLINE H2 operator+(H2 a, H2 b) { return __hadd2(a, b); }                                      \
  KLAB_SIMT_INLINE H2 operator-(H2 a, H2 b) { return __hsub2(a, b); }                                      \
  KLAB_SIMT_INLINE H2 operator*(H2 a, H2 b) { return __hmul2(a, b); }
KLAB_SIMT_HALF_MATH(__half, __half2)
KLAB_SIMT_HALF_MATH(__nv_bfloat16, __nv_bfloat162)
