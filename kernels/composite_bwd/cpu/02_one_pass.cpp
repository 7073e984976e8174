// composite_bwd.cpu.02_one_pass: the gradient is linear in the sum that is not known yet.
//
// CHANGE    d_raw = slope·(T·p - (total - prefix)) = slope·(T·p + prefix) - slope·total. One pass leaves the
//           first term in the output and the slope in a buffer; when the total is known a short loop subtracts.
// EXPECT    half the exponentials: twice the parent at best. exp' costs none, since clamping the density
//           between exp(-15) and exp(15) is the same as clamping its logarithm.
// NUMERICS  as the parent, up to the order of one subtraction.
// NEEDS     a buffer of the longest ray.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/composite_bwd/composite_bwd.h"

namespace klab {
namespace {

void run(const CompositeBwd::Args<float>& x) {
  const auto [rays, samples] = x.shape;
  int64_t longest = 0;
  for (int64_t r = 0; r < rays; ++r)
    longest = std::max<int64_t>(longest, x.ray_begin[r + 1] - x.ray_begin[r]);
  std::vector<float> slopes(static_cast<size_t>(longest));
  const float least = std::exp(-15.0F), most = std::exp(15.0F);
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
    const float red = x.d_color[r], green = x.d_color[rays + r], blue = x.d_color[2 * rays + r],
                depth = x.d_depth[r];
    float prefix = 0, transmittance = 1;
    int64_t i = begin;
    for (; i < end && transmittance >= float(CompositeFwd::stop); ++i) {
      const float sigma = std::exp(x.density_raw[i]);
      const float passed = std::exp(-sigma * x.delta[i]);
      const float p =
          red * x.rgb[i] + green * x.rgb[samples + i] + blue * x.rgb[2 * samples + i] + depth * x.t[i];
      const float weight = transmittance * (1 - passed);
      transmittance *= passed;
      prefix += weight * p;
      const float slope = std::clamp(sigma, least, most) * x.delta[i];
      slopes[size_t(i - begin)] = slope;
      x.d_density_raw[i] = slope * (transmittance * p + prefix);
      x.d_rgb[i] = weight * red;
      x.d_rgb[samples + i] = weight * green;
      x.d_rgb[2 * samples + i] = weight * blue;
    }
    const float total = prefix + transmittance * (red * x.background[r] + green * x.background[rays + r] +
                                                  blue * x.background[2 * rays + r] - x.d_opacity[r]);
    for (int64_t k = begin; k < i; ++k) x.d_density_raw[k] -= slopes[size_t(k - begin)] * total;
    for (; i < end; ++i) {
      x.d_density_raw[i] = 0;
      for (int64_t c = 0; c < 3; ++c) x.d_rgb[c * samples + i] = 0;
    }
  }
}

KLAB_VARIANT(CompositeBwd, {.run = run,
                            .parent = "01_serial",
                            .numerics = {.growth = Growth::linear},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.4}});

}  // namespace
}  // namespace klab
