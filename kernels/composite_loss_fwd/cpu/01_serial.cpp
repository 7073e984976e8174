// composite_loss_fwd.cpu.01_serial: ray by ray, sample by sample, then its loss.
//
// CHANGE    the naive loop of composite_fwd without opacity and depth; the color is used only for the loss.
// EXPECT    bound by the two exponentials per sample, as composite_fwd.cpu.01_serial; the loss of a ray is
//           nothing compared to its samples.
// NUMERICS  one rounding a operation in sample order; transmittance is a running product.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

namespace klab {
namespace {

void run(const CompositeLossFwd::Args<float>& x) {
  const auto [rays, samples, kind] = x.shape;
  const float turn = CompositeLossFwd::turn(kind);
  for (int64_t r = 0; r < rays; ++r) {
    float transmittance = 1, color[3] = {};
    for (int64_t i = x.ray_begin[r], end = x.ray_begin[r + 1];
         i < end && transmittance >= float(CompositeLossFwd::stop); ++i) {
      const float through = std::exp(-std::exp(x.density_raw[i]) * x.delta[i]);
      const float weight = transmittance * (1 - through);
      for (int64_t c = 0; c < 3; ++c) color[c] += weight * x.rgb[c * samples + i];
      transmittance *= through;
    }
    float loss = 0;
    for (int64_t c = 0; c < 3; ++c) {
      const float behind = transmittance * x.background[c * rays + r];
      const float e = std::abs(color[c] + behind - x.target[c * rays + r]), s = std::min(e, turn);
      loss += kind == 0 ? e * e : s * (e - 0.5F * s);
    }
    x.loss[r] = loss * (1.0F / 3);
  }
}

KLAB_VARIANT(CompositeLossFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
