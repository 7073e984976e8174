// composite_fwd.cpu.14_scan_alone: 02_alpha_first with its product as a scan over the lanes, and nothing else.
//
// CHANGE    the transmittances of a vector of samples come from a prefix product; the sums of color and depth stay a
//           loop over samples. Rung 03 makes these sums in vectors, too.
// EXPECT    a claim says 2 to 3. The parent's chain of one multiplication a sample runs next to five sums that are chains
//           of one addition a sample, as long; they stay. Less than 1.05.
// NUMERICS  transmittance is a product in tree order.
// NEEDS     nothing; any number of lanes up to 16.
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
  HWY_ALIGN float through[kPiece + 16], weight[kPiece + 16];
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
      for (int64_t k = 0; k < n && transmittance >= float(CompositeFwd::stop); k += lanes) {
        const auto own = hn::LoadU(d, through + k), in_front = hn::Set(d, transmittance);
        const auto behind = hn::Mul(in_front, prefix_product(d, own));
        hn::StoreU(hn::Mul(shift_in(d, behind, in_front), hn::Sub(hn::Set(d, 1.0F), own)), d, weight + k);
        for (int64_t j = k; j < std::min(n, k + lanes); ++j) {
          const int64_t i = piece + j;
          red += weight[j] * x.rgb[i];
          green += weight[j] * x.rgb[samples + i];
          blue += weight[j] * x.rgb[2 * samples + i];
          opacity += weight[j];
          depth += weight[j] * x.t[i];
        }
        transmittance = hn::GetLane(last_lane(d, behind));
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
                            .parent = "02_alpha_first",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.0},
                            .when = {{1 << 15, 1 << 18}, "the claim on scans, without any other change"}});
KLAB_SIMD_CLOSE();
#endif
