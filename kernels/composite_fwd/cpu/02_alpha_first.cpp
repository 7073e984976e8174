// composite_fwd.cpu.02_alpha_first: all exponentials first, as vectors; then the serial product.
//
// CHANGE    a first loop computes exp(-tau) of a piece of the ray, lanes at a time, into a buffer; the second
//           loop has multiplications only.
// EXPECT    the exponentials no longer matter; the chain of one multiplication per sample remains.
// NUMERICS  as the parent, with the exponential of kernels/common/exp-inl.h (1.7u).
// CODE      VFMA.YMM; no CALL.expf
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/composite_fwd/composite_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

void composite(const CompositeFwd::Args<float>& x) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [rays, samples] = x.shape;
  constexpr int64_t kPiece = 256;  // samples whose exponentials are taken ahead; 1 KB
  HWY_ALIGN float through[kPiece + 16];
  for (int64_t r = 0; r < rays; ++r) {
    float transmittance = 1, red = 0, green = 0, blue = 0, opacity = 0, depth = 0;
    const int64_t end = x.ray_begin[r + 1];
    for (int64_t piece = x.ray_begin[r]; piece < end; piece += kPiece) {
      const int64_t n = std::min(kPiece, end - piece);
      for (int64_t i = 0; i < n; i += lanes) {
        const size_t count = size_t(std::min(lanes, n - i));
        const auto sigma = exp_saturated(d, load_first(d, x.density_raw + piece + i, count));
        const auto tau = hn::Mul(sigma, load_first(d, x.delta + piece + i, count));
        hn::StoreU(exp_minus(d, tau), d, through + i);
      }
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

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x); }

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "01_serial",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
