// composite_fwd.cpu.13_alpha_ahead: 01_serial with the transparencies of a piece computed first, by the same exponential.
//
// CHANGE    a first loop computes exp(-tau) of a piece of the ray into a buffer, sample by sample with the library's
//           exponential; the second loop has multiplications only. Rung 02 does both this and vectors of its own exponential.
// EXPECT    a claim says 1.5 to 2. A core that executes out of order has several samples' exponentials in flight in the parent,
//           too, and an opaque ray computes exponentials that it does not need: less than 1.05.
// NUMERICS  as the parent.
// CODE      CALL.expf; no VMUL.YMM
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab {
namespace {

void run(const CompositeFwd::Args<float>& x) {
  const auto [rays, samples] = x.shape;
  constexpr int64_t kPiece = 256;  // samples whose exponentials are taken ahead; 1 KB
  float through[kPiece];
  for (int64_t r = 0; r < rays; ++r) {
    float transmittance = 1, red = 0, green = 0, blue = 0, opacity = 0, depth = 0;
    const int64_t end = x.ray_begin[r + 1];
    for (int64_t piece = x.ray_begin[r]; piece < end; piece += kPiece) {
      const int64_t n = std::min(kPiece, end - piece);
      for (int64_t k = 0; k < n; ++k)
        through[k] = std::exp(-std::exp(x.density_raw[piece + k]) * x.delta[piece + k]);
      for (int64_t k = 0; k < n && transmittance >= float(CompositeFwd::stop); ++k) {
        const int64_t i = piece + k;
        const float weight = transmittance * (1 - through[k]);
        red += weight * x.rgb[i];
        green += weight * x.rgb[samples + i];
        blue += weight * x.rgb[2 * samples + i];
        opacity += weight;
        depth += weight * x.t[i];
        transmittance *= through[k];
      }
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
              .when = {{1 << 15, 1 << 18},
                       "the claim on transparencies computed first, without any other change"}});

}  // namespace
}  // namespace klab
