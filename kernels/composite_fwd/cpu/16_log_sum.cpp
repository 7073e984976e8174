// composite_fwd.cpu.16_log_sum: 01_serial with a sum of optical depths in place of the product.
//
// CHANGE    T = exp(-sum of tau); the weight is the difference of two neighboring T.
// EXPECT    as many exponentials, and the second now waits for the sum: the chain from sample to sample is an addition in
//           place of a multiplication. A claim says 1.2 to 1.5; expect less than 1.05. (Rung 04 gains where a scan of sums
//           replaces one of products.)
// NUMERICS  relative error of T grows with the optical depth, where T itself falls faster; weights are
//           differences, so small ones keep an absolute error of a few u.
// CODE      CALL.expf; no VMUL.YMM
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab {
namespace {

void run(const CompositeFwd::Args<float>& x) {
  const auto [rays, samples] = x.shape;
  for (int64_t r = 0; r < rays; ++r) {
    float transmittance = 1, red = 0, green = 0, blue = 0, opacity = 0, depth = 0, optical_depth = 0;
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      optical_depth += std::exp(x.density_raw[i]) * x.delta[i];
      const float behind = std::exp(-optical_depth);
      const float weight = transmittance - behind;
      red += weight * x.rgb[i];
      green += weight * x.rgb[samples + i];
      blue += weight * x.rgb[2 * samples + i];
      opacity += weight;
      depth += weight * x.t[i];
      transmittance = behind;
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
              .when = {{1 << 15, 1 << 18}, "the claim on sums of logarithms, without any other change"}});

}  // namespace
}  // namespace klab
