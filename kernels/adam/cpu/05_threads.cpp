// adam.cpu.05_threads: entries shared out among the cores.
//
// CHANGE    each thread takes a run of entries that begins at a cache line; large groups are cut, small ones are not.
//           Vectors whose gradients are all zero are left before anything else of them is touched.
// EXPECT    the bandwidth of the memory.
// NUMERICS  as the parent, bit for bit: entries do not meet.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/adam/adam.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/adam/cpu/03_simd-inl.h"

/// Entries [begin, end) of groups of 2^shift, of which several whole ones fill a vector; begin is a multiple of the lanes.
template <int shift>
HWY_INLINE void groups_of(const Adam::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> di;
  const int64_t lanes = int64_t(hn::Lanes(d));
  constexpr int64_t group = int64_t(1) << shift, most = int64_t(hn::MaxLanes(d)) >> shift;
  const auto lane = hn::Iota(di, 0);
  const auto group_of_lane = hn::IndicesFromVec(d, hn::ShiftRightSame(lane, shift));
  const auto lane_of_group =
      hn::IndicesFromVec(d, hn::And(hn::ShiftLeftSame(lane, shift), hn::Set(di, int32_t(lanes) - 1)));
  const auto rate1 = hn::Set(d, float(-std::log(double(x.hyper[Adam::beta1]))));
  const auto rate2 = hn::Set(d, float(-std::log(double(x.hyper[Adam::beta2]))));
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    const auto gradient = load_first(d, x.gradient + i, count);
    if (hn::AllTrue(d, hn::Eq(gradient, hn::Zero(d)))) continue;
    // A lane is live when any gradient of its group has a bit other than the sign.
    auto bits = hn::And(hn::BitCast(di, gradient), hn::Set(di, 0x7fffffff));
#if HWY_TARGET != HWY_SCALAR
    if (group >= 2) bits = hn::Or(bits, hn::Reverse2(di, bits));
    if (group >= 4) bits = hn::Or(bits, hn::Reverse4(di, bits));
    if (group >= 8) bits = hn::Or(bits, hn::Reverse8(di, bits));
    if (group >= 16) bits = hn::Or(bits, hn::Reverse(di, bits));
#endif
    const auto live = hn::Ne(bits, hn::Zero(di));
    int32_t* counts = x.steps + (i >> shift);
    const size_t groups = (count + size_t(group) - 1) >> shift;
    const auto before = hn::TableLookupLanes(hn::BitCast(d, load_first(di, counts, groups)), group_of_lane);
    const auto steps = hn::Sub(hn::BitCast(di, before), hn::VecFromMask(di, live));  // a true lane is -1
    HWY_ALIGN int32_t packed[16];
    hn::Store(hn::BitCast(di, hn::TableLookupLanes(hn::BitCast(d, steps), lane_of_group)), di, packed);
    if (int64_t(groups) == most) {
      std::memcpy(counts, packed, size_t(most) * sizeof(int32_t));
    } else {
      std::copy_n(packed, groups, counts);
    }
    const auto float_steps = hn::ConvertTo(d, steps);
    // Lanes that are skipped may have step 0, whose correction is 0: their quotient is not used.
    step(d, x, i, count, gradient, hn::RebindMask(d, live),
         one_minus_exp_minus(d, hn::Mul(float_steps, rate1)),
         one_minus_exp_minus(d, hn::Mul(float_steps, rate2)));
  }
}

#include "kernels/adam/cpu/03_simd_groups-inl.h"

KLAB_SIMD_ONCE(small_groups, one_group, lanes);

#if HWY_ONCE
#include "kernels/adam/cpu/05_threads-inl.h"

KLAB_VARIANT(Adam, {.run = run,
                    .parent = "03_simd",
                    .tiles = {16},
                    .expect = {.shape = {1 << 23, 2, 0}, .over_parent = 1.3},
                    .was = {"04_skip_zeros"}});
KLAB_SIMD_CLOSE();
#endif
