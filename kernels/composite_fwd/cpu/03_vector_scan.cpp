// composite_fwd.cpu.03_vector_scan: the product along the ray as a scan over the lanes.
//
// CHANGE    the serial product becomes a prefix product within a vector, log2(lanes) steps for as many samples; one
//           multiplication carries it on to the next vector. (On a GPU: the scan of a warp, the "wavefront".)
// EXPECT    the chain is as many times shorter as there are lanes; the work grows by the scan.
// NUMERICS  transmittance is a product in tree order; opacity is 1 - T.
// NEEDS     nothing; any number of lanes up to 16.
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
  const auto one = hn::Set(d, 1.0F);
  for (int64_t r = 0; r < rays; ++r) {
    auto in_front = one;  // transmittance in front of this vector, in all lanes
    auto red = hn::Zero(d), green = hn::Zero(d), blue = hn::Zero(d), depth = hn::Zero(d);
    const int64_t end = x.ray_begin[r + 1];
    for (int64_t i = x.ray_begin[r]; i < end; i += lanes) {
      const size_t count = size_t(std::min(lanes, end - i));
      // Lanes past the end of the ray get delta = 0: nothing is absorbed there and their weight is 0.
      const auto sigma = exp_saturated(d, load_first(d, x.density_raw + i, count));
      const auto tau = hn::Mul(sigma, load_first(d, x.delta + i, count));
      const auto through = exp_minus(d, tau);
      const auto behind = hn::Mul(in_front, prefix_product(d, through));
      const auto weight = hn::Mul(shift_in(d, behind, in_front), hn::Sub(one, through));
      red = hn::MulAdd(weight, load_first(d, x.rgb + i, count), red);
      green = hn::MulAdd(weight, load_first(d, x.rgb + samples + i, count), green);
      blue = hn::MulAdd(weight, load_first(d, x.rgb + 2 * samples + i, count), blue);
      depth = hn::MulAdd(weight, load_first(d, x.t + i, count), depth);
      in_front = last_lane(d, behind);
      if (hn::GetLane(in_front) < float(CompositeFwd::stop)) break;
    }
    const float left = hn::GetLane(in_front);
    x.color[r] = hn::GetLane(hn::SumOfLanes(d, red)) + left * x.background[r];
    x.color[rays + r] = hn::GetLane(hn::SumOfLanes(d, green)) + left * x.background[rays + r];
    x.color[2 * rays + r] = hn::GetLane(hn::SumOfLanes(d, blue)) + left * x.background[2 * rays + r];
    x.opacity[r] = 1 - left;
    x.depth[r] = hn::GetLane(hn::SumOfLanes(d, depth));
  }
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x); }

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "02_alpha_first",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
