// Complex numbers of CUDA's libraries, for host and device code.
#pragma once

#include <math.h>

#include <cuda_runtime.h>

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define KLAB_CUDA_COMPLEX(C, T, suffix, make)                                                             \
  static inline T cuCreal##suffix(C x) { return x.x; }                                                    \
  static inline T cuCimag##suffix(C x) { return x.y; }                                                    \
  static inline C make(T real, T imaginary) {                                                             \
    C r;                                                                                                  \
    r.x = real;                                                                                           \
    r.y = imaginary;                                                                                      \
    return r;                                                                                             \
  }                                                                                                       \
  static inline C cuConj##suffix(C x) { return make(x.x, -x.y); }                                         \
  static inline C cuCadd##suffix(C a, C b) { return make(a.x + b.x, a.y + b.y); }                         \
  static inline C cuCsub##suffix(C a, C b) { return make(a.x - b.x, a.y - b.y); }                         \
  static inline C cuCmul##suffix(C a, C b) { return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
  static inline C cuCdiv##suffix(C a, C b) {                                                              \
    /* Scaled, so that squares neither overflow nor vanish. */                                            \
    const T scale = T(1) / (T(fabs(b.x)) + T(fabs(b.y)));                                                 \
    const T ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale,                       \
            norm = T(1) / (bx * bx + by * by);                                                            \
    return make((ax * bx + ay * by) * norm, (ay * bx - ax * by) * norm);                                  \
  }                                                                                                       \
  static inline T cuCabs##suffix(C x) { return T(hypot(x.x, x.y)); }                                      \
  static inline C cuCfma##suffix(C a, C b, C c) { return cuCadd##suffix(cuCmul##suffix(a, b), c); }
KLAB_CUDA_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex)
KLAB_CUDA_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex)
#undef KLAB_CUDA_COMPLEX
static inline cuComplex make_cuComplex(float real, float imaginary) {
  return make_cuFloatComplex(real, imaginary);
}
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) {
  return make_cuDoubleComplex(x.x, x.y);
}
static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) {
  return make_cuFloatComplex(float(x.x), float(x.y));
}
