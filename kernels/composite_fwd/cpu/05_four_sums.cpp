// composite_fwd.cpu.05_four_sums: one reduction for the four sums of a ray.
//
// CHANGE    the lanes of red, green, blue and depth are summed together: two merges bring four vectors down to one.
// EXPECT    gains where rays are short, since a reduction is paid once a ray and costs as much as a vector of samples.
// NUMERICS  as the parent, the last sums in another order.
// NEEDS     nothing; any number of lanes from 4 to 16.
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
  for (int64_t r = 0; r < rays; ++r) {
    auto in_front = hn::Set(d, 1.0F);  // transmittance in front of this vector, in all lanes
    auto optical_depth = hn::Zero(d);  // the same as a sum: in_front = exp(-optical_depth)
    auto red = hn::Zero(d), green = hn::Zero(d), blue = hn::Zero(d), depth = hn::Zero(d);
    const int64_t end = x.ray_begin[r + 1];
    for (int64_t i = x.ray_begin[r]; i < end; i += lanes) {
      const size_t count = size_t(std::min(lanes, end - i));
      // Lanes past the end of the ray get delta = 0: nothing is absorbed there and their weight is 0.
      const auto sigma = exp_saturated(d, load_first(d, x.density_raw + i, count));
      const auto tau = hn::Mul(sigma, load_first(d, x.delta + i, count));
      const auto sum = hn::Add(optical_depth, prefix_sum(d, tau));
      const auto behind = exp_minus(d, sum);
      const auto weight = hn::Sub(shift_in(d, behind, in_front), behind);
      red = hn::MulAdd(weight, load_first(d, x.rgb + i, count), red);
      green = hn::MulAdd(weight, load_first(d, x.rgb + samples + i, count), green);
      blue = hn::MulAdd(weight, load_first(d, x.rgb + 2 * samples + i, count), blue);
      depth = hn::MulAdd(weight, load_first(d, x.t + i, count), depth);
      optical_depth = last_lane(d, sum);
      in_front = last_lane(d, behind);
      if (hn::GetLane(in_front) < float(CompositeFwd::stop)) break;
    }
    const float left = hn::GetLane(in_front);
    float total[4];
    four_sums(d, red, green, blue, depth, total);
    for (int64_t c = 0; c < 3; ++c) x.color[c * rays + r] = total[c] + left * x.background[c * rays + r];
    x.opacity[r] = 1 - left;
    x.depth[r] = total[3];
  }
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x); }

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "04_log_space",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.2},
                            .when = {{1 << 15, 1 << 18}, "a reduction is paid once a ray"}});
KLAB_SIMD_CLOSE();
#endif
