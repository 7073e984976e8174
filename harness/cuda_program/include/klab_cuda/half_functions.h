// CUDA Math API, half and bfloat16: conversions in all directions, comparisons that NaN makes true, masks, saturation, and functions of
// pairs. What klab's own kernels use is in harness/simt/half.h.
#pragma once

#include <klab_cuda/device.h>

#include "harness/simt/half.h"

namespace klab::program {

/// Moves a number that was rounded to nearest to its neighbor if it lies on the wrong side of x. `direction`: -1 down, 0 toward zero,
/// 1 up.
template <class H>
KLAB_SIMT_INLINE H half_toward(double x, int direction) {
  H h(x);
  const double value = float(h);
  if (direction == 0 && fabs(value) > fabs(x)) direction = x > 0 ? -1 : 1;
  const bool up = direction > 0 && value < x, down = direction < 0 && value > x;
  if (!up && !down) return h;
  if (value == 0)
    h.bits = up ? 0x0001 : 0x8001;
  else
    h.bits = uint16_t((value > 0) == up ? h.bits + 1 : h.bits - 1);
  return h;
}

/// Converts a whole number. NaN becomes 0 up to 32 bits, else the number with the highest bit alone; others saturate.
template <class Integer>
KLAB_SIMT_INLINE Integer whole(float x) {
  if constexpr (sizeof(Integer) >= 4)
    return klab::simt::saturated<Integer>(x);
  else
    return Integer(clamped<Integer>(klab::simt::saturated<int>(x)));
}

template <class H>
KLAB_SIMT_INLINE bool unordered(H a, H b) {
  return float(a) != float(a) || float(b) != float(b);
}
/// Returns NaN if one of the operands is.
template <class H>
KLAB_SIMT_INLINE H or_nan(H a, H b, H result) {
  result.bits = unordered(a, b) ? 0x7FFF : result.bits;
  return result;
}
/// Negative numbers become 0; NaN stays.
template <class H>
KLAB_SIMT_INLINE H rectified(H a) {
  return float(a) < 0 ? H(0.0f) : a;
}
template <class H>
KLAB_SIMT_INLINE H saturated_half(H a) {
  return H(__saturatef(float(a)));
}

}  // namespace klab::program

// Conversions from and to integers. N: the type's name in those of the functions.
#define KLAB_FROM_HALF(H, N, I, i)                                                                         \
  KLAB_SIMT_INLINE I __##N##2##i##_rn(H a) { return klab::program::whole<I>(__builtin_rintf(float(a))); }  \
  KLAB_SIMT_INLINE I __##N##2##i##_rz(H a) { return klab::program::whole<I>(__builtin_truncf(float(a))); } \
  KLAB_SIMT_INLINE I __##N##2##i##_rd(H a) { return klab::program::whole<I>(__builtin_floorf(float(a))); } \
  KLAB_SIMT_INLINE I __##N##2##i##_ru(H a) { return klab::program::whole<I>(__builtin_ceilf(float(a))); }
#define KLAB_FROM_HALF_TO_BYTES(H, N)                                       \
  KLAB_SIMT_INLINE signed char __##N##2char_rz(H a) {                       \
    return klab::program::whole<signed char>(__builtin_truncf(float(a)));   \
  }                                                                         \
  KLAB_SIMT_INLINE unsigned char __##N##2uchar_rz(H a) {                    \
    return klab::program::whole<unsigned char>(__builtin_truncf(float(a))); \
  }
#define KLAB_TO_HALF_DIRECTED(H, N, I, i, suffix, direction)                       \
  KLAB_SIMT_INLINE H __##i##2##N##_##suffix(I x) {                                 \
    return klab::program::half_toward<H>(klab::simt::double_to_odd(x), direction); \
  }
#define KLAB_TO_HALF(H, N, I, i)            \
  KLAB_TO_HALF_DIRECTED(H, N, I, i, rz, 0)  \
  KLAB_TO_HALF_DIRECTED(H, N, I, i, rd, -1) \
  KLAB_TO_HALF_DIRECTED(H, N, I, i, ru, 1)
#define KLAB_TO_HALF_NEAREST(H, N, I, i) \
  KLAB_SIMT_INLINE H __##i##2##N##_rn(I x) { return H(x); }
KLAB_FROM_HALF(__half, half, short, short)
KLAB_FROM_HALF(__half, half, unsigned short, ushort)
KLAB_FROM_HALF(__half, half, long long, ll)
KLAB_FROM_HALF(__half, half, unsigned long long, ull)
KLAB_FROM_HALF(__half, half, unsigned, uint)
KLAB_FROM_HALF_TO_BYTES(__half, half)
KLAB_SIMT_INLINE int __half2int_ru(__half h) { return klab::program::whole<int>(__builtin_ceilf(float(h))); }
KLAB_TO_HALF(__half, half, short, short)
KLAB_TO_HALF(__half, half, unsigned short, ushort)
KLAB_TO_HALF(__half, half, int, int)
KLAB_TO_HALF(__half, half, unsigned, uint)
KLAB_TO_HALF(__half, half, long long, ll)
KLAB_TO_HALF(__half, half, unsigned long long, ull)
KLAB_TO_HALF_NEAREST(__half, half, short, short)
KLAB_TO_HALF_NEAREST(__half, half, unsigned short, ushort)
KLAB_TO_HALF_NEAREST(__half, half, long long, ll)
KLAB_TO_HALF_NEAREST(__half, half, unsigned long long, ull)
#define KLAB_BFLOAT16(I, i)                     \
  KLAB_FROM_HALF(__nv_bfloat16, bfloat16, I, i) \
  KLAB_TO_HALF(__nv_bfloat16, bfloat16, I, i)   \
  KLAB_TO_HALF_NEAREST(__nv_bfloat16, bfloat16, I, i)
KLAB_BFLOAT16(short, short)
KLAB_BFLOAT16(unsigned short, ushort)
KLAB_BFLOAT16(int, int)
KLAB_BFLOAT16(unsigned, uint)
KLAB_BFLOAT16(long long, ll)
KLAB_BFLOAT16(unsigned long long, ull)
#undef KLAB_BFLOAT16
KLAB_FROM_HALF_TO_BYTES(__nv_bfloat16, bfloat16)
KLAB_SIMT_INLINE __nv_bfloat16 __float2bfloat16_rd(float x) {
  return klab::program::half_toward<__nv_bfloat16>(x, -1);
}
KLAB_SIMT_INLINE __nv_bfloat16 __float2bfloat16_ru(float x) {
  return klab::program::half_toward<__nv_bfloat16>(x, 1);
}
KLAB_SIMT_INLINE short __bfloat16_as_short(__nv_bfloat16 h) { return short(h.bits); }
KLAB_SIMT_INLINE __nv_bfloat16 __short_as_bfloat16(short bits) {
  return __ushort_as_bfloat16((unsigned short)(bits));
}
KLAB_SIMT_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
KLAB_SIMT_INLINE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
KLAB_SIMT_INLINE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
KLAB_SIMT_INLINE __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
KLAB_SIMT_INLINE __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
KLAB_SIMT_INLINE __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return {a.y, a.x}; }
#undef KLAB_FROM_HALF
#undef KLAB_FROM_HALF_TO_BYTES
#undef KLAB_TO_HALF
#undef KLAB_TO_HALF_DIRECTED
#undef KLAB_TO_HALF_NEAREST

// A function of both parts of a pair.
#define KLAB_PAIR(H2, pair, single) \
  KLAB_SIMT_INLINE H2 pair(H2 a) { return {single(a.x), single(a.y)}; }
#define KLAB_PAIR_OF_TWO(H2, pair, single) \
  KLAB_SIMT_INLINE H2 pair(H2 a, H2 b) { return {single(a.x, b.x), single(a.y, b.y)}; }
/// A comparison, and the one that NaN makes true; of pairs as 1 and 0, as masks, and of both parts at once.
#define KLAB_COMPARE(H, H2, name, pair, both)                                                           \
  KLAB_SIMT_INLINE bool name##u(H a, H b) { return klab::program::unordered(a, b) || name(a, b); }      \
  KLAB_SIMT_INLINE H2 pair(H2 a, H2 b) { return {H(float(name(a.x, b.x))), H(float(name(a.y, b.y)))}; } \
  KLAB_SIMT_INLINE unsigned pair##_mask(H2 a, H2 b) {                                                   \
    return (name(a.x, b.x) ? 0xFFFFU : 0) | (name(a.y, b.y) ? 0xFFFF0000U : 0);                         \
  }                                                                                                     \
  KLAB_SIMT_INLINE bool both(H2 a, H2 b) { return name(a.x, b.x) && name(a.y, b.y); }
#define KLAB_HALF_FUNCTIONS(H, H2)                                                                        \
  KLAB_COMPARE(H, H2, __heq, __heq2, __hbeq2)                                                             \
  KLAB_COMPARE(H, H2, __hne, __hne2, __hbne2)                                                             \
  KLAB_COMPARE(H, H2, __hlt, __hlt2, __hblt2)                                                             \
  KLAB_COMPARE(H, H2, __hle, __hle2, __hble2)                                                             \
  KLAB_COMPARE(H, H2, __hgt, __hgt2, __hbgt2)                                                             \
  KLAB_COMPARE(H, H2, __hge, __hge2, __hbge2)                                                             \
  KLAB_UNORDERED(H, H2, eq)                                                                               \
  KLAB_UNORDERED(H, H2, ne)                                                                               \
  KLAB_UNORDERED(H, H2, lt)                                                                               \
  KLAB_UNORDERED(H, H2, le)                                                                               \
  KLAB_UNORDERED(H, H2, gt)                                                                               \
  KLAB_UNORDERED(H, H2, ge)                                                                               \
  KLAB_SIMT_INLINE H2 __hisnan2(H2 a) { return {H(float(__hisnan(a.x))), H(float(__hisnan(a.y)))}; }      \
  KLAB_SIMT_INLINE int __hisinf(H a) { return isinf(float(a)) ? (float(a) < 0 ? -1 : 1) : 0; }            \
  KLAB_SIMT_INLINE H hsin(H a) { return H(sinf(float(a))); }                                              \
  KLAB_SIMT_INLINE H hcos(H a) { return H(cosf(float(a))); }                                              \
  KLAB_SIMT_INLINE H htanh(H a) { return H(tanhf(float(a))); }                                            \
  KLAB_SIMT_INLINE H htanh_approx(H a) { return H(tanhf(float(a))); }                                     \
  KLAB_SIMT_INLINE H hexp2(H a) { return H(exp2f(float(a))); }                                            \
  KLAB_SIMT_INLINE H hexp10(H a) { return H(exp10f(float(a))); }                                          \
  KLAB_SIMT_INLINE H hlog2(H a) { return H(log2f(float(a))); }                                            \
  KLAB_SIMT_INLINE H hlog10(H a) { return H(log10f(float(a))); }                                          \
  KLAB_SIMT_INLINE H hrsqrt(H a) { return H(1.0f / sqrtf(float(a))); }                                    \
  KLAB_SIMT_INLINE H hfloor(H a) { return H(floorf(float(a))); }                                          \
  KLAB_SIMT_INLINE H hceil(H a) { return H(ceilf(float(a))); }                                            \
  KLAB_SIMT_INLINE H htrunc(H a) { return H(truncf(float(a))); }                                          \
  KLAB_SIMT_INLINE H hrint(H a) { return H(rintf(float(a))); }                                            \
  KLAB_PAIR(H2, h2sin, hsin)                                                                              \
  KLAB_PAIR(H2, h2cos, hcos)                                                                              \
  KLAB_PAIR(H2, h2tanh, htanh)                                                                            \
  KLAB_PAIR(H2, h2tanh_approx, htanh_approx)                                                              \
  KLAB_PAIR(H2, h2exp2, hexp2)                                                                            \
  KLAB_PAIR(H2, h2exp10, hexp10)                                                                          \
  KLAB_PAIR(H2, h2log, hlog)                                                                              \
  KLAB_PAIR(H2, h2log2, hlog2)                                                                            \
  KLAB_PAIR(H2, h2log10, hlog10)                                                                          \
  KLAB_PAIR(H2, h2sqrt, hsqrt)                                                                            \
  KLAB_PAIR(H2, h2rsqrt, hrsqrt)                                                                          \
  KLAB_PAIR(H2, h2rcp, hrcp)                                                                              \
  KLAB_PAIR(H2, h2floor, hfloor)                                                                          \
  KLAB_PAIR(H2, h2ceil, hceil)                                                                            \
  KLAB_PAIR(H2, h2trunc, htrunc)                                                                          \
  KLAB_PAIR(H2, h2rint, hrint)                                                                            \
  KLAB_SIMT_INLINE H __hadd_rn(H a, H b) { return __hadd(a, b); }                                         \
  KLAB_SIMT_INLINE H __hsub_rn(H a, H b) { return __hsub(a, b); }                                         \
  KLAB_SIMT_INLINE H __hmul_rn(H a, H b) { return __hmul(a, b); }                                         \
  KLAB_SIMT_INLINE H __hadd_sat(H a, H b) { return klab::program::saturated_half(__hadd(a, b)); }         \
  KLAB_SIMT_INLINE H __hsub_sat(H a, H b) { return klab::program::saturated_half(__hsub(a, b)); }         \
  KLAB_SIMT_INLINE H __hmul_sat(H a, H b) { return klab::program::saturated_half(__hmul(a, b)); }         \
  KLAB_SIMT_INLINE H __hfma_sat(H a, H b, H c) { return klab::program::saturated_half(__hfma(a, b, c)); } \
  KLAB_SIMT_INLINE H __hfma_relu(H a, H b, H c) { return klab::program::rectified(__hfma(a, b, c)); }     \
  KLAB_SIMT_INLINE H __hmax_nan(H a, H b) { return klab::program::or_nan(a, b, __hmax(a, b)); }           \
  KLAB_SIMT_INLINE H __hmin_nan(H a, H b) { return klab::program::or_nan(a, b, __hmin(a, b)); }           \
  KLAB_PAIR_OF_TWO(H2, __hadd2_rn, __hadd)                                                                \
  KLAB_PAIR_OF_TWO(H2, __hsub2_rn, __hsub)                                                                \
  KLAB_PAIR_OF_TWO(H2, __hmul2_rn, __hmul)                                                                \
  KLAB_PAIR_OF_TWO(H2, __hadd2_sat, __hadd_sat)                                                           \
  KLAB_PAIR_OF_TWO(H2, __hsub2_sat, __hsub_sat)                                                           \
  KLAB_PAIR_OF_TWO(H2, __hmul2_sat, __hmul_sat)                                                           \
  KLAB_PAIR_OF_TWO(H2, __hmax2_nan, __hmax_nan)                                                           \
  KLAB_PAIR_OF_TWO(H2, __hmin2_nan, __hmin_nan)                                                           \
  KLAB_SIMT_INLINE H2 __hfma2_sat(H2 a, H2 b, H2 c) {                                                     \
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};                                        \
  }                                                                                                       \
  KLAB_SIMT_INLINE H2 __hfma2_relu(H2 a, H2 b, H2 c) {                                                    \
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};                                      \
  }                                                                                                       \
  /* A product of complex numbers, and a sum. */                                                          \
  KLAB_SIMT_INLINE H2 __hcmadd(H2 a, H2 b, H2 c) {                                                        \
    return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};    \
  }                                                                                                       \
  KLAB_SIMT_INLINE H2 operator/(H2 a, H2 b) { return __h2div(a, b); }                                     \
  KLAB_SIMT_INLINE H2 operator-(H2 a) { return __hneg2(a); }                                              \
  KLAB_SIMT_INLINE H2& operator+=(H2& a, H2 b) { return a = __hadd2(a, b); }                              \
  KLAB_SIMT_INLINE H2& operator-=(H2& a, H2 b) { return a = __hsub2(a, b); }                              \
  KLAB_SIMT_INLINE H2& operator*=(H2& a, H2 b) { return a = __hmul2(a, b); }                              \
  KLAB_SIMT_INLINE H2& operator/=(H2& a, H2 b) { return a = __h2div(a, b); }                              \
  KLAB_SIMT_INLINE bool operator==(H2 a, H2 b) { return __hbeq2(a, b); }                                  \
  KLAB_SIMT_INLINE bool operator!=(H2 a, H2 b) { return __hbneu2(a, b); }                                 \
  KLAB_SIMT_INLINE bool operator<(H2 a, H2 b) { return __hblt2(a, b); }                                   \
  KLAB_SIMT_INLINE bool operator<=(H2 a, H2 b) { return __hble2(a, b); }                                  \
  KLAB_SIMT_INLINE bool operator>(H2 a, H2 b) { return __hbgt2(a, b); }                                   \
  KLAB_SIMT_INLINE bool operator>=(H2 a, H2 b) { return __hbge2(a, b); }                                  \
  KLAB_SIMT_INLINE H& operator++(H& a) { return a += H(1.0f); }                                           \
  KLAB_SIMT_INLINE H& operator--(H& a) { return a -= H(1.0f); }                                           \
  KLAB_SIMT_INLINE H operator++(H& a, int) {                                                              \
    const H before = a;                                                                                   \
    a += H(1.0f);                                                                                         \
    return before;                                                                                        \
  }                                                                                                       \
  KLAB_SIMT_INLINE H operator--(H& a, int) {                                                              \
    const H before = a;                                                                                   \
    a -= H(1.0f);                                                                                         \
    return before;                                                                                        \
  }                                                                                                       \
  /* Not templates, so that the value may be one that converts, such as a float. */                       \
  KLAB_SIMT_INLINE void __stcg(H* p, H x) { *p = x; }                                                     \
  KLAB_SIMT_INLINE void __stcs(H* p, H x) { *p = x; }                                                     \
  KLAB_SIMT_INLINE void __stwt(H* p, H x) { *p = x; }
/// What NaN makes true, for pairs.
#define KLAB_UNORDERED(H, H2, name)                                                             \
  KLAB_SIMT_INLINE H2 __h##name##u2(H2 a, H2 b) {                                               \
    return {H(float(__h##name##u(a.x, b.x))), H(float(__h##name##u(a.y, b.y)))};                \
  }                                                                                             \
  KLAB_SIMT_INLINE unsigned __h##name##u2_mask(H2 a, H2 b) {                                    \
    return (__h##name##u(a.x, b.x) ? 0xFFFFU : 0) | (__h##name##u(a.y, b.y) ? 0xFFFF0000U : 0); \
  }                                                                                             \
  KLAB_SIMT_INLINE bool __hb##name##u2(H2 a, H2 b) {                                            \
    return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                    \
  }
KLAB_HALF_FUNCTIONS(__half, __half2)
KLAB_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
#undef KLAB_HALF_FUNCTIONS
#undef KLAB_UNORDERED
#undef KLAB_COMPARE
#undef KLAB_PAIR_OF_TWO
#undef KLAB_PAIR
