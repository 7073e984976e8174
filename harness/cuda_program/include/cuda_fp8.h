// Numbers of eight bits for host and device code: E4M3 and E5M2, rounded to the nearest even (PTX ISA, cvt).
#pragma once

#include <klab_cuda/halves.h>

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
typedef enum { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

namespace klab::program {

/// E4M3 has no infinity and one NaN; E5M2 has both, as wider formats do.
struct Format8 {
  int digits, bias;
  double largest;
  unsigned beyond;  // what is too large becomes if it does not saturate
};
KLAB_SIMT_INLINE constexpr Format8 format8(__nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? Format8{3, 7, 448, 0x7F} : Format8{2, 15, 57344, 0x7C};
}
KLAB_SIMT_INLINE unsigned char to_fp8(double x, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
  if (x != x) return 0x7F;
  const Format8 f = format8(kind);
  const unsigned sign = __builtin_signbit(x) ? 0x80 : 0;
  const double size = __builtin_fabs(x);
  if (size == 0) return (unsigned char)sign;
  int exponent = size > 2 * f.largest ? 100 : __builtin_ilogb(size);
  if (exponent < 1 - f.bias) exponent = 1 - f.bias;
  const double steps = exponent == 100 ? 0 : __builtin_rint(__builtin_scalbn(size, f.digits - exponent));
  if (exponent == 100 || __builtin_scalbn(steps, exponent - f.digits) > f.largest)
    return (unsigned char)(sign |
                           (saturates == __NV_SATFINITE ? (kind == __NV_E4M3 ? 0x7E : 0x7B) : f.beyond));
  // A carry into the exponent is right as it is, and so are numbers below the least normal one.
  const unsigned bits = (unsigned)steps + ((unsigned)(exponent + f.bias - 1) << f.digits);
  return (unsigned char)(sign | bits);
}
KLAB_SIMT_INLINE float from_fp8(unsigned char x, __nv_fp8_interpretation_t kind) {
  const Format8 f = format8(kind);
  const int digits = x & ((1 << f.digits) - 1), exponent = (x & 0x7F) >> f.digits;
  float size;
  if (kind == __NV_E4M3 ? (x & 0x7F) == 0x7F : exponent == 31)
    size = kind == __NV_E5M2 && digits == 0 ? __builtin_inff() : __builtin_nanf("");
  else if (exponent == 0)
    size = (float)__builtin_scalbn((double)digits, 1 - f.bias - f.digits);
  else
    size = (float)__builtin_scalbn((double)(digits + (1 << f.digits)), exponent - f.bias - f.digits);
  return x & 0x80 ? -size : size;
}

}  // namespace klab::program

KLAB_SIMT_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturates,
                                                           __nv_fp8_interpretation_t kind) {
  return klab::program::to_fp8(x, saturates, kind);
}
KLAB_SIMT_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturates,
                                                          __nv_fp8_interpretation_t kind) {
  return klab::program::to_fp8(x, saturates, kind);
}
KLAB_SIMT_INLINE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturates,
                                                            __nv_fp8_interpretation_t kind) {
  return klab::program::to_fp8(float(__half(x)), saturates, kind);
}
KLAB_SIMT_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x,
                                                                __nv_saturation_t saturates,
                                                                __nv_fp8_interpretation_t kind) {
  return klab::program::to_fp8(float(__nv_bfloat16(x)), saturates, kind);
}
KLAB_SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturates,
                                                                __nv_fp8_interpretation_t kind) {
  return (__nv_fp8x2_storage_t)(klab::program::to_fp8(x.x, saturates, kind) |
                                klab::program::to_fp8(x.y, saturates, kind) << 8);
}
KLAB_SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturates,
                                                               __nv_fp8_interpretation_t kind) {
  return (__nv_fp8x2_storage_t)(klab::program::to_fp8(x.x, saturates, kind) |
                                klab::program::to_fp8(x.y, saturates, kind) << 8);
}
KLAB_SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturates,
                                                                 __nv_fp8_interpretation_t kind) {
  return (__nv_fp8x2_storage_t)(__nv_cvt_halfraw_to_fp8(__half_raw(x.x), saturates, kind) |
                                __nv_cvt_halfraw_to_fp8(__half_raw(x.y), saturates, kind) << 8);
}
KLAB_SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x,
                                                                     __nv_saturation_t saturates,
                                                                     __nv_fp8_interpretation_t kind) {
  return (__nv_fp8x2_storage_t)(__nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw(x.x), saturates, kind) |
                                __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw(x.y), saturates, kind) << 8);
}
KLAB_SIMT_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half_raw(__half(klab::program::from_fp8(x, kind)));
}
KLAB_SIMT_INLINE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x,
                                                        __nv_fp8_interpretation_t kind) {
  __half2_raw r;
  r.x = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)x, kind).x;
  r.y = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), kind).x;
  return r;
}

#define KLAB_FP8(Name, kind)                                                                         \
  struct __nv_fp8_##Name {                                                                           \
    __nv_fp8_storage_t __x;                                                                          \
    __nv_fp8_##Name() = default;                                                                     \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(float x)                                               \
        : __x(klab::program::to_fp8(x, __NV_SATFINITE, kind)) {}                                     \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(double x)                                              \
        : __x(klab::program::to_fp8(x, __NV_SATFINITE, kind)) {}                                     \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(__half x) : __nv_fp8_##Name(float(x)) {}               \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(__nv_bfloat16 x) : __nv_fp8_##Name(float(x)) {}        \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(int x) : __nv_fp8_##Name(double(x)) {}                 \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(unsigned x) : __nv_fp8_##Name(double(x)) {}            \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(long x) : __nv_fp8_##Name(double(x)) {}                \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(unsigned long x) : __nv_fp8_##Name(double(x)) {}       \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(long long x) : __nv_fp8_##Name(double(x)) {}           \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(unsigned long long x) : __nv_fp8_##Name(double(x)) {}  \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(short x) : __nv_fp8_##Name(float(x)) {}                \
    KLAB_SIMT_INLINE explicit __nv_fp8_##Name(unsigned short x) : __nv_fp8_##Name(float(x)) {}       \
    KLAB_SIMT_INLINE explicit operator float() const { return klab::program::from_fp8(__x, kind); }  \
    KLAB_SIMT_INLINE explicit operator double() const { return klab::program::from_fp8(__x, kind); } \
    KLAB_SIMT_INLINE explicit operator __half() const { return __half(float(*this)); }               \
    KLAB_SIMT_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16(float(*this)); } \
    KLAB_SIMT_INLINE explicit operator int() const { return __float2int_rz(float(*this)); }          \
    KLAB_SIMT_INLINE explicit operator unsigned() const { return __float2uint_rz(float(*this)); }    \
    KLAB_SIMT_INLINE explicit operator bool() const { return (__x & 0x7F) != 0; }                    \
  };                                                                                                 \
  struct __nv_fp8x2_##Name {                                                                         \
    __nv_fp8x2_storage_t __x;                                                                        \
    __nv_fp8x2_##Name() = default;                                                                   \
    KLAB_SIMT_INLINE explicit __nv_fp8x2_##Name(float2 x)                                            \
        : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, kind)) {}                                  \
    KLAB_SIMT_INLINE explicit __nv_fp8x2_##Name(double2 x)                                           \
        : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, kind)) {}                                 \
    KLAB_SIMT_INLINE explicit __nv_fp8x2_##Name(__half2 x) : __nv_fp8x2_##Name(__half22float2(x)) {} \
    KLAB_SIMT_INLINE explicit __nv_fp8x2_##Name(__nv_bfloat162 x)                                    \
        : __nv_fp8x2_##Name(__bfloat1622float2(x)) {}                                                \
    KLAB_SIMT_INLINE explicit operator float2() const {                                              \
      float2 r;                                                                                      \
      r.x = klab::program::from_fp8((__nv_fp8_storage_t)__x, kind);                                  \
      r.y = klab::program::from_fp8((__nv_fp8_storage_t)(__x >> 8), kind);                           \
      return r;                                                                                      \
    }                                                                                                \
    KLAB_SIMT_INLINE explicit operator __half2() const { return __float22half2_rn(float2(*this)); }  \
  };                                                                                                 \
  struct __nv_fp8x4_##Name {                                                                         \
    __nv_fp8x4_storage_t __x;                                                                        \
    __nv_fp8x4_##Name() = default;                                                                   \
    KLAB_SIMT_INLINE explicit __nv_fp8x4_##Name(float4 x)                                            \
        : __x(klab::program::to_fp8(x.x, __NV_SATFINITE, kind) |                                     \
              klab::program::to_fp8(x.y, __NV_SATFINITE, kind) << 8 |                                \
              klab::program::to_fp8(x.z, __NV_SATFINITE, kind) << 16 |                               \
              (unsigned)klab::program::to_fp8(x.w, __NV_SATFINITE, kind) << 24) {}                   \
    KLAB_SIMT_INLINE explicit __nv_fp8x4_##Name(__half2 low, __half2 high)                           \
        : __nv_fp8x4_##Name(four(__half22float2(low), __half22float2(high))) {}                      \
    KLAB_SIMT_INLINE explicit __nv_fp8x4_##Name(__nv_bfloat162 low, __nv_bfloat162 high)             \
        : __nv_fp8x4_##Name(four(__bfloat1622float2(low), __bfloat1622float2(high))) {}              \
    KLAB_SIMT_INLINE explicit operator float4() const {                                              \
      float4 r;                                                                                      \
      r.x = klab::program::from_fp8((__nv_fp8_storage_t)__x, kind);                                  \
      r.y = klab::program::from_fp8((__nv_fp8_storage_t)(__x >> 8), kind);                           \
      r.z = klab::program::from_fp8((__nv_fp8_storage_t)(__x >> 16), kind);                          \
      r.w = klab::program::from_fp8((__nv_fp8_storage_t)(__x >> 24), kind);                          \
      return r;                                                                                      \
    }                                                                                                \
                                                                                                     \
   private:                                                                                          \
    static KLAB_SIMT_INLINE float4 four(float2 a, float2 b) {                                        \
      float4 r;                                                                                      \
      r.x = a.x, r.y = a.y, r.z = b.x, r.w = b.y;                                                    \
      return r;                                                                                      \
    }                                                                                                \
  };
KLAB_FP8(e4m3, __NV_E4M3)
KLAB_FP8(e5m2, __NV_E5M2)
#undef KLAB_FP8
