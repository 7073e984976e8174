// CUDA's device functions that klab's own kernels do not use (for the others see harness/simt/intrinsics.h,
// warp.h).
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <klab_cuda/expressions.h>
#include <klab_cuda/packed.h>
#include <klab_cuda/program.h>
#include <klab_cuda/rounding.h>
#include <klab_cuda/unset.h>
#include "harness/simt/intrinsics.h"
#include "harness/simt/vector_atomics.h"
#include "harness/simt/warp.h"

// C library functions are redirected in kernels: accesses to device memory are watched, and the device has
// its own heap.
extern "C" {
void* memcpy(void* to, const void* from, size_t bytes) noexcept __asm__("klab_memcpy");
void* memmove(void* to, const void* from, size_t bytes) noexcept __asm__("klab_memmove");
void* memset(void* p, int value, size_t bytes) noexcept __asm__("klab_memset");
// The same by names that the compiler does not know (harness/cuda_compiler/rewrite.cpp).
void* klab_watched_memcpy(void* to, const void* from, size_t bytes) noexcept __asm__("klab_memcpy");
void* klab_watched_memmove(void* to, const void* from, size_t bytes) noexcept __asm__("klab_memmove");
void* klab_watched_memset(void* p, int value, size_t bytes) noexcept __asm__("klab_memset");
void* malloc(size_t bytes) noexcept __asm__("klab_malloc");
void free(void* p) noexcept __asm__("klab_free");
}

// Integers.
KLAB_SIMT_INLINE unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
KLAB_SIMT_INLINE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
KLAB_SIMT_INLINE long long llmin(long long a, long long b) { return a < b ? a : b; }
KLAB_SIMT_INLINE long long llmax(long long a, long long b) { return a < b ? b : a; }
KLAB_SIMT_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
KLAB_SIMT_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a < b ? b : a;
}
KLAB_SIMT_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFFu) * (b & 0xFFFFFFu); }
KLAB_SIMT_INLINE unsigned umul24(unsigned a, unsigned b) { return __umul24(a, b); }
KLAB_SIMT_INLINE int mul24(int a, int b) { return __mul24(a, b); }
KLAB_SIMT_INLINE long long __mul64hi(long long a, long long b) {
  __extension__ typedef __int128 Wide;
  return (long long)(Wide(a) * b >> 64);
}
KLAB_SIMT_INLINE unsigned __sad(int a, int b, unsigned c) { return c + unsigned(a < b ? b - a : a - b); }
KLAB_SIMT_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
KLAB_SIMT_INLINE int __hadd(int a, int b) { return int(((long long)a + b) >> 1); }
KLAB_SIMT_INLINE int __rhadd(int a, int b) { return int(((long long)a + b + 1) >> 1); }
KLAB_SIMT_INLINE unsigned __uhadd(unsigned a, unsigned b) {
  return unsigned(((unsigned long long)a + b) >> 1);
}
KLAB_SIMT_INLINE unsigned __urhadd(unsigned a, unsigned b) {
  return unsigned(((unsigned long long)a + b + 1) >> 1);
}
KLAB_SIMT_INLINE unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
KLAB_SIMT_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? low : __funnelshift_l(low, high, by);
}
KLAB_SIMT_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? high : __funnelshift_r(low, high, by);
}
KLAB_SIMT_INLINE int __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return mask >> base & 1 ? int(base) : -1;
  const int step = offset > 0 ? 1 : -1;
  int left = offset > 0 ? offset : -offset;
  for (int k = int(base); k >= 0 && k < 32; k += step)
    if ((mask >> k & 1) != 0 && --left == 0) return k;
  return -1;
}

// Conversions and rounding. Directed rounding of float goes through double; that of double is in rounding.h.
KLAB_SIMT_INLINE float __float_toward(double x, int direction) {
  const float f = float(x);
  if (direction > 0 && double(f) < x) return nextafterf(f, INFINITY);
  if (direction < 0 && double(f) > x) return nextafterf(f, -INFINITY);
  if (direction == 0 && fabs(double(f)) > fabs(x)) return nextafterf(f, 0);
  return f;
}
#define KLAB_CUDA_DIRECTED(suffix, d)                                                             \
  KLAB_SIMT_INLINE float __fadd_##suffix(float a, float b) {                                      \
    return __float_toward(double(a) + double(b), d);                                              \
  }                                                                                               \
  KLAB_SIMT_INLINE float __fsub_##suffix(float a, float b) {                                      \
    return __float_toward(double(a) - double(b), d);                                              \
  }                                                                                               \
  KLAB_SIMT_INLINE float __fmul_##suffix(float a, float b) {                                      \
    return __float_toward(double(a) * double(b), d);                                              \
  }                                                                                               \
  KLAB_SIMT_INLINE float __fdiv_##suffix(float a, float b) {                                      \
    return __float_toward(double(a) / double(b), d);                                              \
  }                                                                                               \
  KLAB_SIMT_INLINE float __frcp_##suffix(float a) { return __float_toward(1.0 / double(a), d); }  \
  KLAB_SIMT_INLINE float __fsqrt_##suffix(float a) { return __float_toward(sqrt(double(a)), d); } \
  KLAB_SIMT_INLINE float __fmaf_##suffix(float a, float b, float c) {                             \
    return __float_toward(fma(double(a), double(b), double(c)), d);                               \
  }                                                                                               \
  KLAB_SIMT_INLINE float __double2float_##suffix(double a) { return __float_toward(a, d); }
KLAB_CUDA_DIRECTED(rz, 0)
KLAB_CUDA_DIRECTED(ru, 1)
KLAB_CUDA_DIRECTED(rd, -1)
KLAB_SIMT_INLINE double __dsub_rn(double a, double b) { return a - b; }
KLAB_SIMT_INLINE double __ddiv_rn(double a, double b) { return a / b; }
KLAB_SIMT_INLINE double __drcp_rn(double a) { return 1.0 / a; }
KLAB_SIMT_INLINE double __dsqrt_rn(double a) { return sqrt(a); }
KLAB_SIMT_INLINE int __double2int_rz(double x) { return klab::simt::saturated<int>(trunc(x)); }
KLAB_SIMT_INLINE int __double2int_rd(double x) { return klab::simt::saturated<int>(floor(x)); }
KLAB_SIMT_INLINE int __double2int_ru(double x) { return klab::simt::saturated<int>(ceil(x)); }
KLAB_SIMT_INLINE unsigned __double2uint_rn(double x) { return klab::simt::saturated<unsigned>(rint(x)); }
KLAB_SIMT_INLINE unsigned __double2uint_rz(double x) { return klab::simt::saturated<unsigned>(trunc(x)); }
KLAB_SIMT_INLINE long long __double2ll_rz(double x) { return klab::simt::saturated<long long>(trunc(x)); }
KLAB_SIMT_INLINE long long __float2ll_rz(float x) { return klab::simt::saturated<long long>(truncf(x)); }
KLAB_SIMT_INLINE double __int2double_rn(int x) { return x; }
KLAB_SIMT_INLINE double __uint2double_rn(unsigned x) { return x; }
KLAB_SIMT_INLINE float __int2float_rz(int x) { return __float_toward(x, 0); }
KLAB_SIMT_INLINE float __uint2float_rz(unsigned x) { return __float_toward(x, 0); }
KLAB_SIMT_INLINE float __int2float_ru(int x) { return __float_toward(x, 1); }
KLAB_SIMT_INLINE float __int2float_rd(int x) { return __float_toward(x, -1); }
KLAB_SIMT_INLINE float __uint2float_ru(unsigned x) { return __float_toward(x, 1); }
KLAB_SIMT_INLINE float __uint2float_rd(unsigned x) { return __float_toward(x, -1); }
KLAB_SIMT_INLINE unsigned __double2uint_rd(double x) { return klab::simt::saturated<unsigned>(floor(x)); }
KLAB_SIMT_INLINE unsigned __double2uint_ru(double x) { return klab::simt::saturated<unsigned>(ceil(x)); }
KLAB_SIMT_INLINE long long __double2ll_rd(double x) { return klab::simt::saturated<long long>(floor(x)); }
KLAB_SIMT_INLINE long long __double2ll_ru(double x) { return klab::simt::saturated<long long>(ceil(x)); }
KLAB_SIMT_INLINE long long __float2ll_ru(float x) { return klab::simt::saturated<long long>(ceilf(x)); }
KLAB_SIMT_INLINE unsigned long long __float2ull_rn(float x) {
  return klab::simt::saturated<unsigned long long>(rintf(x));
}
KLAB_SIMT_INLINE unsigned long long __float2ull_rz(float x) {
  return klab::simt::saturated<unsigned long long>(truncf(x));
}
KLAB_SIMT_INLINE unsigned long long __double2ull_rn(double x) {
  return klab::simt::saturated<unsigned long long>(rint(x));
}
KLAB_SIMT_INLINE unsigned long long __double2ull_rz(double x) {
  return klab::simt::saturated<unsigned long long>(trunc(x));
}
KLAB_SIMT_INLINE float __ull2float_rn(unsigned long long x) { return float(x); }
KLAB_SIMT_INLINE double __ull2double_rn(unsigned long long x) { return double(x); }
KLAB_SIMT_INLINE int __double2hiint(double x) { return int(__builtin_bit_cast(long long, x) >> 32); }
KLAB_SIMT_INLINE int __double2loint(double x) { return int(__builtin_bit_cast(long long, x)); }
KLAB_SIMT_INLINE double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, (long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

// Functions of real numbers.
KLAB_SIMT_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
KLAB_SIMT_INLINE double sinpi(double x) { return sin(3.14159265358979323846 * fmod(x, 2.0)); }
KLAB_SIMT_INLINE double cospi(double x) { return cos(3.14159265358979323846 * fmod(x, 2.0)); }
KLAB_SIMT_INLINE void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
KLAB_SIMT_INLINE double norm3d(double a, double b, double c) { return sqrt(a * a + b * b + c * c); }
KLAB_SIMT_INLINE double norm4d(double a, double b, double c, double d) {
  return sqrt(a * a + b * b + c * c + d * d);
}
KLAB_SIMT_INLINE float norm4df(float a, float b, float c, float d) { return float(norm4d(a, b, c, d)); }
KLAB_SIMT_INLINE float rnorm3df(float a, float b, float c) { return float(1.0 / norm3d(a, b, c)); }
KLAB_SIMT_INLINE double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
KLAB_SIMT_INLINE double rhypot(double a, double b) { return 1.0 / hypot(a, b); }
KLAB_SIMT_INLINE float rhypotf(float a, float b) { return float(1.0 / hypot(double(a), double(b))); }
KLAB_SIMT_INLINE double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
KLAB_SIMT_INLINE float normcdff(float x) { return float(normcdf(double(x))); }
KLAB_SIMT_INLINE float saturate(float x) { return __saturatef(x); }
KLAB_SIMT_INLINE float rsqrt(float x) { return rsqrtf(x); }

// Atomics that wrap around, atomics with a scope, and 16-bit atomics.
KLAB_SIMT_INLINE unsigned atomicInc(unsigned* p, unsigned limit) {
  const unsigned old = klab::simt::atomic_u32(klab::simt::Atomic::increment, p, limit, 0);
  klab::simt::atomic_called();
  return klab::simt::if_used(old);
}
KLAB_SIMT_INLINE unsigned atomicDec(unsigned* p, unsigned limit) {
  const unsigned old = klab::simt::atomic_u32(klab::simt::Atomic::decrement, p, limit, 0);
  klab::simt::atomic_called();
  return klab::simt::if_used(old);
}
#define KLAB_CUDA_SCOPED(function, scope)               \
  template <class P, class... T>                        \
  KLAB_SIMT_INLINE auto function##scope(P* p, T... v) { \
    return function(p, P(v)...);                        \
  }
KLAB_CUDA_SCOPED(atomicAdd, _system)
KLAB_CUDA_SCOPED(atomicAdd, _block)
KLAB_CUDA_SCOPED(atomicSub, _system)
KLAB_CUDA_SCOPED(atomicSub, _block)
KLAB_CUDA_SCOPED(atomicMax, _system)
KLAB_CUDA_SCOPED(atomicMax, _block)
KLAB_CUDA_SCOPED(atomicMin, _system)
KLAB_CUDA_SCOPED(atomicMin, _block)
KLAB_CUDA_SCOPED(atomicExch, _system)
KLAB_CUDA_SCOPED(atomicExch, _block)
KLAB_CUDA_SCOPED(atomicAnd, _system)
KLAB_CUDA_SCOPED(atomicAnd, _block)
KLAB_CUDA_SCOPED(atomicOr, _system)
KLAB_CUDA_SCOPED(atomicOr, _block)
KLAB_CUDA_SCOPED(atomicXor, _system)
KLAB_CUDA_SCOPED(atomicXor, _block)
KLAB_CUDA_SCOPED(atomicCAS, _system)
KLAB_CUDA_SCOPED(atomicCAS, _block)
#undef KLAB_CUDA_SCOPED
KLAB_SIMT_INLINE unsigned atomicInc_block(unsigned* p, unsigned v) { return atomicInc(p, v); }
KLAB_SIMT_INLINE unsigned atomicDec_block(unsigned* p, unsigned v) { return atomicDec(p, v); }
KLAB_SIMT_INLINE unsigned atomicInc_system(unsigned* p, unsigned v) { return atomicInc(p, v); }
KLAB_SIMT_INLINE unsigned atomicDec_system(unsigned* p, unsigned v) { return atomicDec(p, v); }
// Overloads that accept literals of another type, as in CUDA.
KLAB_SIMT_INLINE unsigned atomicAdd(unsigned* p, int v) { return atomicAdd(p, unsigned(v)); }
KLAB_SIMT_INLINE int atomicAdd(int* p, unsigned v) { return atomicAdd(p, int(v)); }
KLAB_SIMT_INLINE float atomicAdd(float* p, double v) { return atomicAdd(p, float(v)); }
KLAB_SIMT_INLINE float atomicAdd(float* p, int v) { return atomicAdd(p, float(v)); }
KLAB_SIMT_INLINE double atomicAdd(double* p, int v) { return atomicAdd(p, double(v)); }
KLAB_SIMT_INLINE unsigned long long atomicAdd(unsigned long long* p, int v) {
  return atomicAdd(p, (unsigned long long)v);
}
KLAB_SIMT_INLINE unsigned atomicMax(unsigned* p, int v) { return atomicMax(p, unsigned(v)); }
KLAB_SIMT_INLINE unsigned atomicMin(unsigned* p, int v) { return atomicMin(p, unsigned(v)); }
KLAB_SIMT_INLINE unsigned atomicExch(unsigned* p, int v) { return atomicExch(p, unsigned(v)); }
KLAB_SIMT_INLINE unsigned atomicOr(unsigned* p, int v) { return atomicOr(p, unsigned(v)); }
KLAB_SIMT_INLINE unsigned atomicAnd(unsigned* p, int v) { return atomicAnd(p, unsigned(v)); }
KLAB_SIMT_INLINE unsigned atomicSub(unsigned* p, int v) { return atomicSub(p, unsigned(v)); }

// Address space of a pointer.
extern "C" {
unsigned klab_is_global(const void* p);
unsigned klab_is_shared(const void* p);
}
KLAB_SIMT_INLINE unsigned __isGlobal(const void* p) { return klab_is_global(p); }
KLAB_SIMT_INLINE unsigned __isShared(const void* p) { return klab_is_shared(p); }
KLAB_SIMT_INLINE unsigned __isLocal(const void* p) { return !klab_is_global(p) && !klab_is_shared(p); }
KLAB_SIMT_INLINE unsigned __isCtaShared(const void* p) { return klab_is_shared(p); }
KLAB_SIMT_INLINE void __brkpt() { __trap(); }
KLAB_SIMT_INLINE void __prof_trigger(int) {}
template <class... T>
KLAB_SIMT_INLINE void __builtin_assume(T...) {}
template <class T>
KLAB_SIMT_INLINE void __stwb(T* p, T x) {
  *p = x;
}
#include <klab_cuda/math_api.h>
