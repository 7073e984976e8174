// distortion_bwd.cpu.02_prefix: two running sums and their totals.
//
// CHANGE    sum_j w_j·|t_i - t_j| = t_i·(W - W') - (Z - Z') with W, Z over the samples before i and W', Z'
//           over those behind it, which are the totals minus the sums so far.
// EXPECT    as many times faster as rays are long, about.
// NUMERICS  differences of sums; the magnitude of the contract is that of their terms.
#include "harness/core/registrar.h"
#include "reference/distortion_bwd/distortion_bwd.h"

namespace klab {
namespace {

void run(const DistortionBwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    float behind_W = 0, behind_Z = 0, W = 0, Z = 0;
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      behind_W += x.weights[i];
      behind_Z += x.weights[i] * x.t[i];
    }
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      const float w = x.weights[i], z = w * x.t[i];
      behind_W -= w;
      behind_Z -= z;
      const float pairs = x.t[i] * (W - behind_W) - (Z - behind_Z);
      x.d_weights[i] = 2 * x.d_loss[r] * (pairs + w * x.delta[i] * (1.0F / 3));
      W += w;
      Z += z;
    }
  }
}

KLAB_VARIANT(DistortionBwd, {.run = run,
                             .parent = "01_quadratic",
                             .forward = "02_prefix",
                             .expect = {.shape = {8192, 1 << 18}, .over_parent = 4}});

}  // namespace
}  // namespace klab
