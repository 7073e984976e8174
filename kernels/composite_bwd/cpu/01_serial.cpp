// composite_bwd.cpu.01_serial: two passes along each ray.
//
// CHANGE    the naive loop. Every sample's gradient needs the sum behind it: a first pass finds the whole
//           sum, a second walks the ray again and subtracts the samples that it has passed.
// EXPECT    twice the forward: its exponentials are all computed a second time.
// NUMERICS  one rounding a operation in sample order; suffix = total - prefix.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/composite_bwd/composite_bwd.h"

namespace klab {
namespace {

void run(const CompositeBwd::Args<float>& x) {
  const auto [rays, samples] = x.shape;
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
    const float red = x.d_color[r], green = x.d_color[rays + r], blue = x.d_color[2 * rays + r],
                depth = x.d_depth[r];
    const auto payload = [&, n = samples](int64_t i) {
      return red * x.rgb[i] + green * x.rgb[n + i] + blue * x.rgb[2 * n + i] + depth * x.t[i];
    };
    const auto through = [&](int64_t i) { return std::exp(-std::exp(x.density_raw[i]) * x.delta[i]); };
    float total = 0, transmittance = 1;
    int64_t stop = begin;
    while (stop < end && transmittance >= float(CompositeFwd::stop)) {
      const float passed = through(stop);
      total += transmittance * (1 - passed) * payload(stop);
      transmittance *= passed;
      ++stop;
    }
    total += transmittance * (red * x.background[r] + green * x.background[rays + r] +
                              blue * x.background[2 * rays + r] - x.d_opacity[r]);
    float prefix = 0;
    transmittance = 1;
    for (int64_t i = begin; i < stop; ++i) {
      const float passed = through(i), p = payload(i);
      const float weight = transmittance * (1 - passed);
      transmittance *= passed;
      prefix += weight * p;
      const float slope = std::exp(std::clamp(x.density_raw[i], -15.0F, 15.0F)) * x.delta[i];
      x.d_density_raw[i] = slope * (transmittance * p - (total - prefix));
      x.d_rgb[i] = weight * red;
      x.d_rgb[samples + i] = weight * green;
      x.d_rgb[2 * samples + i] = weight * blue;
    }
    for (int64_t i = stop; i < end; ++i) {
      x.d_density_raw[i] = 0;
      for (int64_t c = 0; c < 3; ++c) x.d_rgb[c * samples + i] = 0;
    }
  }
}

KLAB_VARIANT(CompositeBwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
