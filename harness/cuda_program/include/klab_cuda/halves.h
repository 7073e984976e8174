// The parts of cuda_fp16.h and cuda_bf16.h that klab's own kernels do not use.
#pragma once

#include <klab_cuda/device.h>

using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
#include <klab_cuda/half_functions.h>

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
