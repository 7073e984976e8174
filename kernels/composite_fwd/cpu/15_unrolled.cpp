// composite_fwd.cpu.15_unrolled: 01_serial with its loop unrolled by four, and nothing else.
//
// CHANGE    `#pragma GCC unroll 4` in front of the loop over a ray's samples.
// EXPECT    a claim says that it helps. The loop may end behind each sample and calls two exponentials in each, so an
//           addition and a comparison less do not show: less than 1.05.
// NUMERICS  as the parent.
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
#pragma GCC unroll 4
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

KLAB_VARIANT(CompositeFwd,
             {.run = run,
              .parent = "01_serial",
              .numerics = {.growth = Growth::linear},
              .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.0},
              .when = {{1 << 15, 1 << 18}, "the claim on unrolling, without any other change"}});

}  // namespace
}  // namespace klab
