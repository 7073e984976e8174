// composite_fwd.cpu.01_serial: ray by ray, sample by sample, as the formula reads.
//
// CHANGE    the naive loop; stops a ray once less than 1e-4 of the light gets through.
// EXPECT    bound by the two exponentials and by the product that each sample hands to the next.
// NUMERICS  one rounding a operation in sample order; transmittance is a running product.
// CODE      CALL.expf; no VMUL.YMM
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab {
namespace {

void run(const CompositeFwd::Args<float>& x) {
  const auto [rays, samples] = x.shape;
  for (int64_t r = 0; r < rays; ++r) {
    float transmittance = 1, red = 0, green = 0, blue = 0, opacity = 0, depth = 0;
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      const float through = std::exp(-std::exp(x.density_raw[i]) * x.delta[i]);
      const float weight = transmittance * (1 - through);
      red += weight * x.rgb[i];
      green += weight * x.rgb[samples + i];
      blue += weight * x.rgb[2 * samples + i];
      opacity += weight;
      depth += weight * x.t[i];
      transmittance *= through;
      if (transmittance < float(CompositeFwd::stop)) break;
    }
    x.color[r] = red + transmittance * x.background[r];
    x.color[rays + r] = green + transmittance * x.background[rays + r];
    x.color[2 * rays + r] = blue + transmittance * x.background[2 * rays + r];
    x.opacity[r] = opacity;
    x.depth[r] = depth;
  }
}

KLAB_VARIANT(CompositeFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
