// Directed rounding of double: rounds to nearest, then moves one step if the exactly computed error has the
// wrong sign (Muller et al., "Handbook of Floating-Point Arithmetic", sections 4.3 and 4.4).
#pragma once

#include <float.h>
#include <math.h>

#include "harness/simt/language.h"

namespace klab {
namespace program {

/// Rounds in a direction. `nearest` is the exact value rounded to nearest, and `error` has the sign of the
/// exact value minus `nearest`. `direction`: 1 up, -1 down, 0 toward zero. `finite`: the operands were
/// finite, so an infinity is an overflow.
KLAB_SIMT_INLINE double rounded(double nearest, double error, int direction, bool finite) {
  if (isinf(nearest)) {
    const bool beyond = nearest > 0 ? direction <= 0 : direction >= 0;
    return finite && beyond ? copysign(DBL_MAX, nearest) : nearest;
  }
  if (direction == 0) direction = nearest > 0 || (nearest == 0 && error < 0) ? -1 : 1;
  if (direction > 0 && error > 0) return nextafter(nearest, INFINITY);
  if (direction < 0 && error < 0) return nextafter(nearest, -INFINITY);
  return nearest;
}
KLAB_SIMT_INLINE double error_of_sum(double a, double b, double sum) {
  const double of_b = sum - a, of_a = sum - of_b;
  return (a - of_a) + (b - of_b);
}
KLAB_SIMT_INLINE double sum_toward(double a, double b, int direction) {
  const double sum = a + b;
  return rounded(sum, error_of_sum(a, b, sum), direction, isfinite(a) && isfinite(b));
}
KLAB_SIMT_INLINE double product_toward(double a, double b, int direction) {
  const double product = a * b;
  double error = fma(a, b, -product);
  // Below the smallest normal number the error itself may have been lost.
  if (error == 0 && product == 0 && a != 0 && b != 0) error = (a > 0) == (b > 0) ? 1 : -1;
  return rounded(product, error, direction, isfinite(a) && isfinite(b));
}
KLAB_SIMT_INLINE double quotient_toward(double a, double b, int direction) {
  const double quotient = a / b;
  const double rest = fma(-quotient, b, a);
  return rounded(quotient, b > 0 ? rest : -rest, direction, isfinite(a) && b != 0);
}
KLAB_SIMT_INLINE double root_toward(double a, int direction) {
  const double root = sqrt(a);
  return rounded(root, fma(-root, root, a), direction, false);
}
KLAB_SIMT_INLINE double fma_toward(double a, double b, double c, int direction) {
  const double nearest = fma(a, b, c), product = a * b, low = fma(a, b, -product);
  const double sum = product + c, rest = error_of_sum(product, c, sum);
  return rounded(nearest, (sum - nearest) + (rest + low), direction,
                 isfinite(a) && isfinite(b) && isfinite(c));
}

}  // namespace program
}  // namespace klab

#define KLAB_CUDA_DIRECTED_DOUBLE(suffix, d)                                                                 \
  KLAB_SIMT_INLINE double __dadd_##suffix(double a, double b) { return klab::program::sum_toward(a, b, d); } \
  KLAB_SIMT_INLINE double __dsub_##suffix(double a, double b) {                                              \
    return klab::program::sum_toward(a, -b, d);                                                              \
  }                                                                                                          \
  KLAB_SIMT_INLINE double __dmul_##suffix(double a, double b) {                                              \
    return klab::program::product_toward(a, b, d);                                                           \
  }                                                                                                          \
  KLAB_SIMT_INLINE double __ddiv_##suffix(double a, double b) {                                              \
    return klab::program::quotient_toward(a, b, d);                                                          \
  }                                                                                                          \
  KLAB_SIMT_INLINE double __drcp_##suffix(double a) { return klab::program::quotient_toward(1.0, a, d); }    \
  KLAB_SIMT_INLINE double __dsqrt_##suffix(double a) { return klab::program::root_toward(a, d); }            \
  KLAB_SIMT_INLINE double __fma_##suffix(double a, double b, double c) {                                     \
    return klab::program::fma_toward(a, b, c, d);                                                            \
  }
KLAB_CUDA_DIRECTED_DOUBLE(rz, 0)
KLAB_CUDA_DIRECTED_DOUBLE(ru, 1)
KLAB_CUDA_DIRECTED_DOUBLE(rd, -1)
#undef KLAB_CUDA_DIRECTED_DOUBLE
