// ssim_loss_fwd.cpu.01_naive: a window of 121 taps at every pixel.
//
// CHANGE    the naive loop: five moments, directly by the formulas.
// EXPECT    121 taps of 8 operations for each value, where two passes of 11 do.
// NUMERICS  the sum over all values in double.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {
namespace {

float similarity(const SsimLossFwd::Shape& s, const float* x, const float* y, int64_t row, int64_t column) {
  constexpr int64_t r = SsimLossFwd::radius;
  float mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
  for (int64_t i = std::max(-r, -row); i <= std::min(r, s.height - 1 - row); ++i)
    for (int64_t j = std::max(-r, -column); j <= std::min(r, s.width - 1 - column); ++j) {
      const float w = SsimLossFwd::window[std::abs(i)] * SsimLossFwd::window[std::abs(j)];
      const float a = x[(row + i) * s.width + column + j], b = y[(row + i) * s.width + column + j];
      mx += w * a;
      my += w * b;
      xx += w * a * a;
      yy += w * b * b;
      xy += w * a * b;
    }
  constexpr float c1 = SsimLossFwd::c1, c2 = SsimLossFwd::c2;
  return (2 * mx * my + c1) * (2 * (xy - mx * my) + c2) /
         ((mx * mx + my * my + c1) * (xx - mx * mx + yy - my * my + c2));
}

void run(const SsimLossFwd::Args<float>& x) {
  const SsimLossFwd::Shape& s = x.shape;
  double distance = 0, alike = 0;
  for (int64_t c = 0; c < 3; ++c) {
    const float *image = x.image + c * s.pixels(), *target = x.target + c * s.pixels();
    for (int64_t row = 0; row < s.height; ++row)
      for (int64_t column = 0; column < s.width; ++column) {
        distance += std::abs(image[row * s.width + column] - target[row * s.width + column]);
        alike += similarity(s, image, target, row, column);
      }
  }
  const double values = 3 * double(s.pixels()), weight = x.weight[0];
  x.loss[0] = float((1 - weight) * distance / values + weight * (1 - alike / values));
}

KLAB_VARIANT(SsimLossFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
