// composite_bwd.cpu.03_vector_scan: two scans along the ray, lanes at a time.
//
// CHANGE    optical depth and the running sum of weight times payload are prefix sums within a vector; T is one
//           exponential of the first. The terms without the total wait in a buffer.
// EXPECT    several times the parent: the exponentials are vectors now, the chains log2(lanes) steps a vector.
// NUMERICS  sums in tree order; weights are differences of transmittances.
// NEEDS     two buffers of the longest ray.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/composite_bwd/composite_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

void composite(const CompositeBwd::Args<float>& x) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [rays, samples] = x.shape;
  int64_t longest = 0;
  for (int64_t r = 0; r < rays; ++r)
    longest = std::max<int64_t>(longest, x.ray_begin[r + 1] - x.ray_begin[r]);
  std::vector<float> slopes(size_t(longest) + 16), firsts(size_t(longest) + 16);
  const auto least = hn::Set(d, 3.05902321e-7F), most = hn::Set(d, 3269017.37F);  // exp(-15), exp(15)
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
    const auto red = hn::Set(d, x.d_color[r]), green = hn::Set(d, x.d_color[rays + r]);
    const auto blue = hn::Set(d, x.d_color[2 * rays + r]), depth = hn::Set(d, x.d_depth[r]);
    auto in_front = hn::Set(d, 1.0F);  // transmittance in front of this vector, in all lanes
    auto prefix = hn::Zero(d);         // sum of weight times payload so far, in the last lane
    auto optical_depth = hn::Zero(d);  // behind this vector, in the last lane
    int64_t i = begin;
    for (; i < end && hn::GetLane(in_front) >= float(CompositeFwd::stop); i += lanes) {
      const size_t count = size_t(std::min(lanes, end - i));
      const auto sigma = exp_saturated(d, load_first(d, x.density_raw + i, count));
      const auto delta = load_first(d, x.delta + i, count);
      optical_depth = hn::Add(last_lane(d, optical_depth), prefix_sum(d, hn::Mul(sigma, delta)));
      const auto behind = exp_minus(d, optical_depth);
      const auto weight = hn::Sub(shift_in(d, behind, in_front), behind);
      in_front = last_lane(d, behind);
      auto p = hn::Mul(depth, load_first(d, x.t + i, count));
      p = hn::MulAdd(red, load_first(d, x.rgb + i, count), p);
      p = hn::MulAdd(green, load_first(d, x.rgb + samples + i, count), p);
      p = hn::MulAdd(blue, load_first(d, x.rgb + 2 * samples + i, count), p);
      prefix = hn::Add(last_lane(d, prefix), prefix_sum(d, hn::Mul(weight, p)));
      store_first(hn::Mul(weight, red), d, x.d_rgb + i, count);
      store_first(hn::Mul(weight, green), d, x.d_rgb + samples + i, count);
      store_first(hn::Mul(weight, blue), d, x.d_rgb + 2 * samples + i, count);
      const auto slope = hn::Mul(hn::Min(hn::Max(sigma, least), most), delta);
      hn::StoreU(slope, d, slopes.data() + (i - begin));
      hn::StoreU(hn::MulAdd(behind, p, prefix), d, firsts.data() + (i - begin));
    }
    const float q = x.d_color[r] * x.background[r] + x.d_color[rays + r] * x.background[rays + r] +
                    x.d_color[2 * rays + r] * x.background[2 * rays + r] - x.d_opacity[r];
    const auto total = hn::Set(d, hn::GetLane(last_lane(d, prefix)) + hn::GetLane(in_front) * q);
    for (int64_t k = begin; k < std::min(i, end); k += lanes) {
      const auto gradient = hn::Mul(hn::LoadU(d, slopes.data() + (k - begin)),
                                    hn::Sub(hn::LoadU(d, firsts.data() + (k - begin)), total));
      store_first(gradient, d, x.d_density_raw + k, size_t(std::min(lanes, end - k)));
    }
    for (i = std::min(i, end); i < end; i += lanes) {  // left out
      const size_t count = size_t(std::min(lanes, end - i));
      store_first(hn::Zero(d), d, x.d_density_raw + i, count);
      for (int64_t c = 0; c < 3; ++c) store_first(hn::Zero(d), d, x.d_rgb + c * samples + i, count);
    }
  }
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(composite)(x); }

KLAB_VARIANT(CompositeBwd, {.run = run,
                            .parent = "02_one_pass",
                            .forward = "05_four_sums",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 2.5}});
KLAB_SIMD_CLOSE();
#endif
