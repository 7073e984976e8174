// Rounds one float to a format of fewer bits, on a GPU. Shared by the CUDA rungs of cast.
#pragma once

#include "kernels/common/cuda.h"
#include "reference/cast/cast.h"

namespace klab::cast_device {

/// Parameters of a format for the rounding of cpu/02_bits; see there.
struct Format {
  int drop = 0, bits = 0;
  unsigned least_normal = 0, rebias = 0, adder = 0, cap = 0, nan = 0;
};

inline Format format(int digits, int min_exponent, unsigned cap, unsigned nan, int bits) {
  return {24 - digits,
          bits,
          unsigned(min_exponent + 127) << 23,
          unsigned(min_exponent + 126) << 23,
          unsigned(min_exponent - digits + 24 + 127) << 23,
          cap,
          nan};
}

/// bits = 0 means int8.
inline Format format_of(int64_t which) {
  switch (which) {
    case Cast::f16:
      return format(11, -14, 0x7C00, 0x7FFF, 16);
    case Cast::bf16:
      return format(8, -126, 0x7F80, 0x7FFF, 16);
    case Cast::e4m3:
      return format(4, -6, 0x7E, 0x7F, 8);
    case Cast::e5m2:
      return format(3, -14, 0x7B, 0x7F, 8);
    default:
      return {};
  }
}

__device__ __forceinline__ unsigned narrow(const Format& f, float x) {
  const unsigned all = __float_as_uint(x), size = all & 0x7FFFFFFFU;
  if (f.bits == 0) {
    if (size > 0x7F800000U) return 0;
    return unsigned(__float2int_rn(fminf(fmaxf(x, -128.0F), 127.0F))) & 255U;
  }
  if (size > 0x7F800000U) return f.nan;
  unsigned result = (size + ((1U << (f.drop - 1)) - 1) + (size >> f.drop & 1U) - f.rebias) >> f.drop;
  if (size < f.least_normal)
    result = __float_as_uint(__uint_as_float(size) + __uint_as_float(f.adder)) - f.adder;
  return all >> 31 << (f.bits - 1) | min(result, f.cap);
}

/// Stores one result. A 16-bit result at an odd address is stored byte by byte.
__device__ __forceinline__ void store(uint8_t* out, int64_t i, bool wide, unsigned bits) {
  if (!wide) {
    out[i] = (unsigned char)bits;
  } else if (reinterpret_cast<uintptr_t>(out) % 2 == 0) {
    reinterpret_cast<unsigned short*>(out)[i] = (unsigned short)bits;
  } else {
    out[2 * i] = (unsigned char)bits;
    out[2 * i + 1] = (unsigned char)(bits >> 8);
  }
}

}  // namespace klab::cast_device
