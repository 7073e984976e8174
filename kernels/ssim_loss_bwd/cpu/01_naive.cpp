// ssim_loss_bwd.cpu.01_naive: windows of 121 taps, forward and backward.
//
// CHANGE    the naive loops: the slopes of S at every pixel to three maps, then these blurred at every pixel.
// EXPECT    twice 121 taps a value, where four passes of 11 do.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"

namespace klab {
namespace {

constexpr int64_t r = SsimLossFwd::radius;

struct Slopes {
  float mean, square, product;
};

Slopes slopes(const SsimLossFwd::Shape& s, const float* x, const float* y, int64_t row, int64_t column) {
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
  const float light = 2 * mx * my + c1, structure = 2 * (xy - mx * my) + c2;
  const float light_size = mx * mx + my * my + c1, structure_size = xx - mx * mx + yy - my * my + c2;
  const float inverse = 1 / (light_size * structure_size), value = light * structure * inverse;
  return {2 * my * (structure - light) * inverse + 2 * mx * value * (1 / structure_size - 1 / light_size),
          -value / structure_size, 2 * light * inverse};
}

void run(const SsimLossBwd::Args<float>& x) {
  const SsimLossFwd::Shape& s = x.shape;
  const float share = x.d_loss[0] / float(3 * s.pixels()), weight = x.weight[0];
  std::vector<Slopes> map(size_t(s.pixels()));
  for (int64_t c = 0; c < 3; ++c) {
    const float *image = x.image + c * s.pixels(), *target = x.target + c * s.pixels();
    for (int64_t row = 0; row < s.height; ++row)
      for (int64_t column = 0; column < s.width; ++column)
        map[size_t(row * s.width + column)] = slopes(s, image, target, row, column);
    for (int64_t row = 0; row < s.height; ++row)
      for (int64_t column = 0; column < s.width; ++column) {
        float mean = 0, square = 0, product = 0;
        for (int64_t i = std::max(-r, -row); i <= std::min(r, s.height - 1 - row); ++i)
          for (int64_t j = std::max(-r, -column); j <= std::min(r, s.width - 1 - column); ++j) {
            const float w = SsimLossFwd::window[std::abs(i)] * SsimLossFwd::window[std::abs(j)];
            const Slopes& at = map[size_t((row + i) * s.width + column + j)];
            mean += w * at.mean;
            square += w * at.square;
            product += w * at.product;
          }
        const int64_t at = row * s.width + column;
        const float off = image[at] - target[at], sign = off > 0 ? 1.0F : off < 0 ? -1.0F : 0.0F;
        const float slope = mean + 2 * image[at] * square + target[at] * product;
        x.d_image[c * s.pixels() + at] = share * ((1 - weight) * sign - weight * slope);
      }
  }
}

KLAB_VARIANT(SsimLossBwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
