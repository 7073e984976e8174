// gs_rasterize_fwd.cpu.01_pixels: one pixel after the other.
//
// CHANGE    the naive loop: a pixel walks through its tile's list.
// EXPECT    an exponential of the C library for every entry and every one of 256 pixels, although most
//           Gaussians reach a quarter of them or less; six scattered loads each.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

namespace klab {
namespace {

void run(const GsRasterizeFwd::Args<float>& x) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const int64_t n = s.n, plane = s.width * s.height;
  for (int64_t row = 0; row < s.height; ++row)
    for (int64_t column = 0; column < s.width; ++column) {
      const int64_t t = row / 16 * s.columns() + column / 16, pixel = row * s.width + column;
      float T = 1, red = 0, green = 0, blue = 0;
      for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1]; ++k) {
        const int64_t g = x.id[k];
        const float dx = x.mean[g] - (float(column) + 0.5F), dy = x.mean[n + g] - (float(row) + 0.5F);
        const float e =
            -0.5F * (x.conic[g] * dx * dx + x.conic[2 * n + g] * dy * dy) - x.conic[n + g] * dx * dy;
        const float alpha = std::min(0.99F, x.opacity[g] * std::exp(e));
        if (alpha < 1.0F / 255) continue;
        const float left = T * (1 - alpha);
        if (left < 1e-4F) break;
        red += T * alpha * x.color[g];
        green += T * alpha * x.color[n + g];
        blue += T * alpha * x.color[2 * n + g];
        T = left;
      }
      x.image[pixel] = red + T * x.background[0];
      x.image[plane + pixel] = green + T * x.background[1];
      x.image[2 * plane + pixel] = blue + T * x.background[2];
      x.transmittance[pixel] = T;
    }
}

KLAB_VARIANT(GsRasterizeFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
