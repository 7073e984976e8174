// Structural similarity at one pixel with running errors, and its slopes; shared by ssim_loss_fwd and
// ssim_loss_bwd.
#pragma once

#include <algorithm>

#include "reference/running_error.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {

struct Similarity {
  RunningError value;
  RunningError d_mean, d_square, d_product;  // with respect to E[x], E[x^2], E[xy]
};

/// The product of two taps, an input of the contract rounded to float.
inline RunningError tap(int64_t i, int64_t j) {
  return RunningError(SsimLossFwd::window[std::abs(i)]) * RunningError(SsimLossFwd::window[std::abs(j)]);
}

/// x, y: one channel each, [height,width].
inline Similarity similarity(const SsimLossFwd::Shape& s, const double* x, const double* y, int64_t row,
                             int64_t column) {
  using Real = RunningError;
  Real mx, my, xx, yy, xy;
  constexpr int64_t r = SsimLossFwd::radius;
  for (int64_t i = std::max(-r, -row); i <= std::min(r, s.height - 1 - row); ++i)
    for (int64_t j = std::max(-r, -column); j <= std::min(r, s.width - 1 - column); ++j) {
      const int64_t at = (row + i) * s.width + column + j;
      const Real w = tap(i, j), a = x[at], b = y[at];
      mx += w * a, my += w * b, xx += w * (a * a), yy += w * (b * b), xy += w * (a * b);
    }
  const Real two = 2, c1 = rounded(SsimLossFwd::c1), c2 = rounded(SsimLossFwd::c2);
  const Real light = two * mx * my + c1, structure = two * (xy - mx * my) + c2;
  const Real light_size = mx * mx + my * my + c1, structure_size = (xx - mx * mx) + (yy - my * my) + c2;
  const Real sizes = light_size * structure_size;
  Similarity out;
  out.value = light * structure / sizes;
  out.d_product = two * light / sizes;
  out.d_square = -out.value / structure_size;
  out.d_mean = two * my * (structure - light) / sizes +
               two * mx * out.value * (Real(1) / structure_size - Real(1) / light_size);
  return out;
}

}  // namespace klab
