// CUDA's arithmetic functions for a host compiler. Fast variants (__expf, ...) are as accurate as the others
// here, so a test on the host tells nothing about their error on the GPU.
#pragma once

#include <math.h>

#include <cstring>

#include "harness/simt/language.h"

#define KLAB_SIMT_MINMAX(T)                                            \
  KLAB_SIMT_INLINE constexpr T min(T a, T b) { return b < a ? b : a; } \
  KLAB_SIMT_INLINE constexpr T max(T a, T b) { return a < b ? b : a; }
KLAB_SIMT_MINMAX(int)
KLAB_SIMT_MINMAX(unsigned)
KLAB_SIMT_MINMAX(long)
KLAB_SIMT_MINMAX(unsigned long)
KLAB_SIMT_MINMAX(long long)
KLAB_SIMT_MINMAX(unsigned long long)
#define KLAB_SIMT_MINMAX_MIXED(A, B, T)                                                            \
  KLAB_SIMT_INLINE constexpr T min(A a, B b) { return min(static_cast<T>(a), static_cast<T>(b)); } \
  KLAB_SIMT_INLINE constexpr T min(B a, A b) { return min(static_cast<T>(a), static_cast<T>(b)); } \
  KLAB_SIMT_INLINE constexpr T max(A a, B b) { return max(static_cast<T>(a), static_cast<T>(b)); } \
  KLAB_SIMT_INLINE constexpr T max(B a, A b) { return max(static_cast<T>(a), static_cast<T>(b)); }
KLAB_SIMT_MINMAX_MIXED(int, unsigned, unsigned)
KLAB_SIMT_MINMAX_MIXED(long, unsigned long, unsigned long)
KLAB_SIMT_MINMAX_MIXED(long long, unsigned long long, unsigned long long)
// Returns the number if the other operand is NaN, as fminf and the GPU's instruction do.
KLAB_SIMT_INLINE float min(float a, float b) { return fminf(a, b); }
KLAB_SIMT_INLINE float max(float a, float b) { return fmaxf(a, b); }
KLAB_SIMT_INLINE double min(double a, double b) { return fmin(a, b); }
KLAB_SIMT_INLINE double max(double a, double b) { return fmax(a, b); }
KLAB_SIMT_INLINE double min(float a, double b) { return fmin(a, b); }
KLAB_SIMT_INLINE double min(double a, float b) { return fmin(a, b); }
KLAB_SIMT_INLINE double max(float a, double b) { return fmax(a, b); }
KLAB_SIMT_INLINE double max(double a, float b) { return fmax(a, b); }

// Macros, because glibc declares some of these names itself.
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, s, c) sincosf(x, s, c)

KLAB_SIMT_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
KLAB_SIMT_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
KLAB_SIMT_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
KLAB_SIMT_INLINE float __frsqrt_rn(float x) { return float(1.0 / sqrt(double(x))); }
KLAB_SIMT_INLINE float __fdividef(float a, float b) { return a / b; }
KLAB_SIMT_INLINE float fdividef(float a, float b) { return a / b; }
KLAB_SIMT_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
KLAB_SIMT_INLINE double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
KLAB_SIMT_INLINE float __fadd_rn(float a, float b) { return a + b; }
KLAB_SIMT_INLINE float __fsub_rn(float a, float b) { return a - b; }
KLAB_SIMT_INLINE float __fmul_rn(float a, float b) { return a * b; }
KLAB_SIMT_INLINE float __fdiv_rn(float a, float b) { return a / b; }
KLAB_SIMT_INLINE float __frcp_rn(float a) { return 1.0f / a; }
KLAB_SIMT_INLINE float __fsqrt_rn(float a) { return sqrtf(a); }
KLAB_SIMT_INLINE double __dadd_rn(double a, double b) { return a + b; }
KLAB_SIMT_INLINE double __dmul_rn(double a, double b) { return a * b; }
KLAB_SIMT_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }  // NaN becomes 0
KLAB_SIMT_INLINE float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
KLAB_SIMT_INLINE void sincospif(float x, float* s, float* c) {
  *s = float(sin(3.14159265358979323846 * double(x)));
  *c = float(cos(3.14159265358979323846 * double(x)));
}
KLAB_SIMT_INLINE float sinpif(float x) { return float(sin(3.14159265358979323846 * double(x))); }
KLAB_SIMT_INLINE float cospif(float x) { return float(cos(3.14159265358979323846 * double(x))); }

// Conversions saturate as on the GPU. NaN becomes 0 from 32 to 32 bits, else the number with the highest bit alone.
namespace klab::simt {
template <class To, class From>
KLAB_SIMT_INLINE To saturated(From x) {
  if (!(x == x)) return sizeof(To) == 4 && sizeof(From) == 4 ? To(0) : To(To(1) << (8 * sizeof(To) - 1));
  constexpr From low = From(~To(0) < To(0) ? -To(To(1) << (8 * sizeof(To) - 2)) * From(2) : From(0));
  constexpr From high = From(To(1) << (8 * sizeof(To) - 2)) * From(~To(0) < To(0) ? 2 : 4);
  if (x < low) return ~To(0) < To(0) ? To(low) : To(0);
  if (x >= high) return ~To(0) < To(0) ? To(~(To(1) << (8 * sizeof(To) - 1))) : To(~To(0));
  return To(x);
}
}  // namespace klab::simt
KLAB_SIMT_INLINE int __float2int_rn(float x) { return klab::simt::saturated<int>(rintf(x)); }
KLAB_SIMT_INLINE int __float2int_rz(float x) { return klab::simt::saturated<int>(truncf(x)); }
KLAB_SIMT_INLINE int __float2int_rd(float x) { return klab::simt::saturated<int>(floorf(x)); }
KLAB_SIMT_INLINE int __float2int_ru(float x) { return klab::simt::saturated<int>(ceilf(x)); }
KLAB_SIMT_INLINE unsigned __float2uint_rn(float x) { return klab::simt::saturated<unsigned>(rintf(x)); }
KLAB_SIMT_INLINE unsigned __float2uint_rz(float x) { return klab::simt::saturated<unsigned>(truncf(x)); }
KLAB_SIMT_INLINE unsigned __float2uint_rd(float x) { return klab::simt::saturated<unsigned>(floorf(x)); }
KLAB_SIMT_INLINE unsigned __float2uint_ru(float x) { return klab::simt::saturated<unsigned>(ceilf(x)); }
KLAB_SIMT_INLINE long long __float2ll_rn(float x) { return klab::simt::saturated<long long>(rintf(x)); }
KLAB_SIMT_INLINE long long __float2ll_rd(float x) { return klab::simt::saturated<long long>(floorf(x)); }
KLAB_SIMT_INLINE long long __double2ll_rn(double x) { return klab::simt::saturated<long long>(rint(x)); }
KLAB_SIMT_INLINE int __double2int_rn(double x) { return klab::simt::saturated<int>(rint(x)); }
KLAB_SIMT_INLINE float __int2float_rn(int x) { return float(x); }
KLAB_SIMT_INLINE float __uint2float_rn(unsigned x) { return float(x); }
KLAB_SIMT_INLINE float __ll2float_rn(long long x) { return float(x); }
KLAB_SIMT_INLINE double __ll2double_rn(long long x) { return double(x); }
KLAB_SIMT_INLINE float __double2float_rn(double x) { return float(x); }
KLAB_SIMT_INLINE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
KLAB_SIMT_INLINE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
KLAB_SIMT_INLINE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
KLAB_SIMT_INLINE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
KLAB_SIMT_INLINE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
KLAB_SIMT_INLINE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

KLAB_SIMT_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
KLAB_SIMT_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KLAB_SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
KLAB_SIMT_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
KLAB_SIMT_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
KLAB_SIMT_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)(x)); }
KLAB_SIMT_INLINE unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(x);
}
KLAB_SIMT_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const unsigned long long bytes = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = s >> (4 * i) & 15u;
    unsigned byte = unsigned(bytes >> (8 * (pick & 7u))) & 255u;
    if (pick & 8u) byte = byte & 128u ? 255u : 0u;
    r |= byte << (8 * i);
  }
  return r;
}
KLAB_SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return unsigned(((unsigned long long)high << 32 | low) << (by & 31u) >> 32);
}
KLAB_SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return unsigned(((unsigned long long)high << 32 | low) >> (by & 31u));
}
KLAB_SIMT_INLINE int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
KLAB_SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
KLAB_SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ typedef unsigned __int128 Wide;
  return (unsigned long long)(Wide(a) * b >> 64);
}
KLAB_SIMT_INLINE int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
KLAB_SIMT_INLINE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += int((signed char)(a >> (8 * i))) * int((signed char)(b >> (8 * i)));
  return c;
}
KLAB_SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 255u) * (b >> (8 * i) & 255u);
  return c;
}

// Loads and stores with a cache hint.
template <class T>
KLAB_SIMT_INLINE T __ldg(const T* p) {
  return *p;
}
template <class T>
KLAB_SIMT_INLINE T __ldca(const T* p) {
  return *p;
}
template <class T>
KLAB_SIMT_INLINE T __ldcg(const T* p) {
  return *p;
}
template <class T>
KLAB_SIMT_INLINE T __ldcs(const T* p) {
  return *p;
}
template <class T>
KLAB_SIMT_INLINE T __ldlu(const T* p) {
  return *p;
}
template <class T>
KLAB_SIMT_INLINE void __stcg(T* p, T x) {
  *p = x;
}
template <class T>
KLAB_SIMT_INLINE void __stcs(T* p, T x) {
  *p = x;
}
template <class T>
KLAB_SIMT_INLINE void __stwt(T* p, T x) {
  *p = x;
}
