// composite_fwd.cpu.12_fast_exponential: 01_serial with klab's exponential in place of the library's, and nothing else.
//
// CHANGE    both exponentials of a sample by kernels/common/exp-inl.h, in vectors of one lane: a polynomial without
//           tables, tests or a call.
// EXPECT    a claim says 1.2 to 1.5. The library's float exponential is a call with a table; without it a core sees more of
//           the next samples: at least 1.1 times as fast.
// NUMERICS  as the parent, with an exponential of at most 1.7 units in the last place.
// CODE      VFMA.XMM; no CALL.expf
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/composite_fwd/composite_fwd.h"

#include "kernels/common/exp-inl.h"

KLAB_SIMD_BEGIN();

void composite(const CompositeFwd::Args<float>& x) {
  const hn::CappedTag<float, 1> d;
  const auto [rays, samples] = x.shape;
  for (int64_t r = 0; r < rays; ++r) {
    float transmittance = 1, red = 0, green = 0, blue = 0, opacity = 0, depth = 0;
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      const auto tau = hn::Mul(exp_saturated(d, hn::Set(d, x.density_raw[i])), hn::Set(d, x.delta[i]));
      const float through = hn::GetLane(exp_minus(d, tau));
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

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x); }

KLAB_VARIANT(CompositeFwd,
             {.run = run,
              .parent = "01_serial",
              .numerics = {.growth = Growth::linear},
              .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.1},
              .when = {{1 << 15, 1 << 18}, "the claim on fast exponentials, without any other change"}});
KLAB_SIMD_CLOSE();
#endif
