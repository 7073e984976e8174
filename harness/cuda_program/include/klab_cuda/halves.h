// The parts of cuda_fp16.h and cuda_bf16.h that klab's own kernels do not use.
#pragma once

#include <klab_cuda/device.h>

using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
#include "harness/simt/half.h"

#define KLAB_CUDA_HALVES(H, H2)                                                                \
  KLAB_SIMT_INLINE H hsin(H a) { return H(sinf(float(a))); }                                   \
  KLAB_SIMT_INLINE H hcos(H a) { return H(cosf(float(a))); }                                   \
  KLAB_SIMT_INLINE H hexp2(H a) { return H(exp2f(float(a))); }                                 \
  KLAB_SIMT_INLINE H hlog2(H a) { return H(log2f(float(a))); }                                 \
  KLAB_SIMT_INLINE H hrsqrt(H a) { return H(1.0f / sqrtf(float(a))); }                         \
  KLAB_SIMT_INLINE H hfloor(H a) { return H(floorf(float(a))); }                               \
  KLAB_SIMT_INLINE H hceil(H a) { return H(ceilf(float(a))); }                                 \
  KLAB_SIMT_INLINE H htrunc(H a) { return H(truncf(float(a))); }                               \
  KLAB_SIMT_INLINE H hrint(H a) { return H(rintf(float(a))); }                                 \
  KLAB_SIMT_INLINE int __hisinf(H a) { return isinf(float(a)) ? (float(a) < 0 ? -1 : 1) : 0; } \
  KLAB_SIMT_INLINE H __hadd_sat(H a, H b) { return H(__saturatef(float(a) + float(b))); }      \
  KLAB_SIMT_INLINE H __hmul_sat(H a, H b) { return H(__saturatef(float(a) * float(b))); }      \
  KLAB_SIMT_INLINE H __hadd_rn(H a, H b) { return __hadd(a, b); }                              \
  KLAB_SIMT_INLINE H __hmul_rn(H a, H b) { return __hmul(a, b); }                              \
  KLAB_SIMT_INLINE bool __hgeu(H a, H b) { return !(float(a) < float(b)); }                    \
  KLAB_SIMT_INLINE H2 __hgt2(H2 a, H2 b) {                                                     \
    return {H(float(a.x) > float(b.x)), H(float(a.y) > float(b.y))};                           \
  }                                                                                            \
  KLAB_SIMT_INLINE H2 __hlt2(H2 a, H2 b) {                                                     \
    return {H(float(a.x) < float(b.x)), H(float(a.y) < float(b.y))};                           \
  }                                                                                            \
  KLAB_SIMT_INLINE H2 __hge2(H2 a, H2 b) {                                                     \
    return {H(float(a.x) >= float(b.x)), H(float(a.y) >= float(b.y))};                         \
  }                                                                                            \
  KLAB_SIMT_INLINE H2 __hle2(H2 a, H2 b) {                                                     \
    return {H(float(a.x) <= float(b.x)), H(float(a.y) <= float(b.y))};                         \
  }                                                                                            \
  KLAB_SIMT_INLINE H2 __heq2(H2 a, H2 b) {                                                     \
    return {H(float(a.x) == float(b.x)), H(float(a.y) == float(b.y))};                         \
  }                                                                                            \
  KLAB_SIMT_INLINE H2 __hne2(H2 a, H2 b) {                                                     \
    return {H(float(a.x) != float(b.x)), H(float(a.y) != float(b.y))};                         \
  }                                                                                            \
  /* Not templates, so that the value may be one that converts, such as a float. */            \
  KLAB_SIMT_INLINE void __stcg(H* p, H x) { *p = x; }                                          \
  KLAB_SIMT_INLINE void __stcs(H* p, H x) { *p = x; }                                          \
  KLAB_SIMT_INLINE void __stwt(H* p, H x) { *p = x; }                                          \
  KLAB_SIMT_INLINE bool __hbeq2(H2 a, H2 b) { return __heq(a.x, b.x) && __heq(a.y, b.y); }     \
  KLAB_SIMT_INLINE bool __hbgt2(H2 a, H2 b) { return __hgt(a.x, b.x) && __hgt(a.y, b.y); }     \
  KLAB_SIMT_INLINE bool __hblt2(H2 a, H2 b) { return __hlt(a.x, b.x) && __hlt(a.y, b.y); }     \
  KLAB_SIMT_INLINE bool __hbge2(H2 a, H2 b) { return __hge(a.x, b.x) && __hge(a.y, b.y); }     \
  KLAB_SIMT_INLINE bool __hble2(H2 a, H2 b) { return __hle(a.x, b.x) && __hle(a.y, b.y); }     \
  KLAB_SIMT_INLINE H2 h2sqrt(H2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }                        \
  KLAB_SIMT_INLINE H2 h2log(H2 a) { return {hlog(a.x), hlog(a.y)}; }                           \
  KLAB_SIMT_INLINE H2 h2rcp(H2 a) { return {hrcp(a.x), hrcp(a.y)}; }
KLAB_CUDA_HALVES(__half, __half2)
KLAB_CUDA_HALVES(__nv_bfloat16, __nv_bfloat162)
#undef KLAB_CUDA_HALVES
KLAB_SIMT_INLINE int __half2uint_rn(__half h) { return int(__builtin_rintf(float(h))); }
KLAB_SIMT_INLINE int __half2int_ru(__half h) { return int(__builtin_ceilf(float(h))); }
KLAB_SIMT_INLINE __half __ushort2half_rn(unsigned short x) { return __half(float(x)); }
KLAB_SIMT_INLINE __half __short2half_rn(short x) { return __half(float(x)); }

// The bits of such numbers.
struct __half_raw {
  unsigned short x;
  __half_raw() = default;
  KLAB_SIMT_INLINE __half_raw(unsigned short bits) : x(bits) {}             // NOLINT: as in CUDA
  KLAB_SIMT_INLINE __half_raw(__half h) : x(h.bits) {}                      // NOLINT
  KLAB_SIMT_INLINE operator __half() const { return __ushort_as_half(x); }  // NOLINT
};
struct __nv_bfloat16_raw {
  unsigned short x;
  __nv_bfloat16_raw() = default;
  KLAB_SIMT_INLINE __nv_bfloat16_raw(unsigned short bits) : x(bits) {}                 // NOLINT
  KLAB_SIMT_INLINE __nv_bfloat16_raw(__nv_bfloat16 h) : x(h.bits) {}                   // NOLINT
  KLAB_SIMT_INLINE operator __nv_bfloat16() const { return __ushort_as_bfloat16(x); }  // NOLINT
};
struct __half2_raw {
  unsigned short x, y;
  __half2_raw() = default;
  KLAB_SIMT_INLINE __half2_raw(__half2 h) : x(h.x.bits), y(h.y.bits) {}                             // NOLINT
  KLAB_SIMT_INLINE operator __half2() const { return {__ushort_as_half(x), __ushort_as_half(y)}; }  // NOLINT
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
  __nv_bfloat162_raw() = default;
  KLAB_SIMT_INLINE __nv_bfloat162_raw(__nv_bfloat162 h) : x(h.x.bits), y(h.y.bits) {}  // NOLINT
  KLAB_SIMT_INLINE operator __nv_bfloat162() const {                                   // NOLINT
    return {__ushort_as_bfloat16(x), __ushort_as_bfloat16(y)};
  }
};
