// composite_fwd.cpu.04_log_space: sum optical depths, then one exponential.
//
// CHANGE    T = exp(-prefix sum of tau): the scan adds instead of multiplying, its steps shift in zeros, and
//           a weight is the difference of two neighboring transmittances.
// EXPECT    a little: a shorter scan, and the chain from vector to vector no longer waits for an exponential.
// NUMERICS  relative error of T grows with the optical depth, where T itself falls faster; weights are
//           differences, so small ones keep an absolute error of a few u.
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
                            .parent = "03_vector_scan",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
