// Floats as bytes of e4m3 and e5m2: the instruction of compute capability 8.9 under nvcc, the exact conversions on the host.
#pragma once

#include "kernels/common/cuda.h"
#if KLAB_SIMT
#include "reference/formats.h"
#endif

namespace klab::cuda {

#if KLAB_SIMT

/// Two floats as neighbors, `low` in the lower byte, each rounded to nearest, ties to even; too large becomes the largest number, and
/// NaN stays one.
KLAB_SIMT_INLINE uint32_t e4m3_pair(float low, float high) {
  return encode(kE4m3, double(high)) << 8 | encode(kE4m3, double(low));
}
KLAB_SIMT_INLINE uint32_t e5m2_pair(float low, float high) {
  return encode(kE5m2, double(high)) << 8 | encode(kE5m2, double(low));
}

#else

// Where the instruction is missing the kernel is still compiled, and its variant reports that it cannot run.
#if __CUDA_ARCH__ >= 890
#define KLAB_FP8_PAIR(name, type)                                                          \
  __device__ __forceinline__ uint32_t name(float low, float high) {                        \
    uint16_t pair;                                                                         \
    asm("cvt.rn.satfinite." type "x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low)); \
    return pair;                                                                           \
  }
#else
#define KLAB_FP8_PAIR(name, type)                          \
  __device__ __forceinline__ uint32_t name(float, float) { \
    asm volatile("trap;");                                 \
    return 0;                                              \
  }
#endif
KLAB_FP8_PAIR(e4m3_pair, "e4m3")
KLAB_FP8_PAIR(e5m2_pair, "e5m2")
#undef KLAB_FP8_PAIR

#endif

}  // namespace klab::cuda
