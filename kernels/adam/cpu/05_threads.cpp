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

/// One step of `count` entries from i on, of those lanes where `live` holds. correct1, correct2: 1 - beta^step.
template <class D, class V, class M>
HWY_INLINE void step(D d, const Adam::Args<float>& x, int64_t i, size_t count, V gradient, M live, V correct1,
                     V correct2) {
  const float* h = x.hyper;
  const V param = load_first(d, x.param + i, count);
  const V m = load_first(d, x.m + i, count), v = load_first(d, x.v + i, count);
  const V g = hn::MulAdd(hn::Set(d, h[Adam::l2]), param, gradient);
  const V new_m = hn::MulAdd(hn::Set(d, h[Adam::beta1]), m, hn::Mul(hn::Set(d, 1 - h[Adam::beta1]), g));
  const V new_v =
      hn::MulAdd(hn::Set(d, h[Adam::beta2]), v, hn::Mul(hn::Mul(hn::Set(d, 1 - h[Adam::beta2]), g), g));
  const V root = hn::Sqrt(hn::Div(new_v, correct2));
  const V denominator = hn::Mul(correct1, hn::Add(root, hn::Set(d, h[Adam::epsilon])));
  const V change = hn::Div(hn::Mul(hn::Set(d, h[Adam::rate]), new_m), denominator);
  store_first(hn::IfThenElse(live, hn::Sub(param, change), param), d, x.param + i, count);
  store_first(hn::IfThenElse(live, new_m, m), d, x.m + i, count);
  store_first(hn::IfThenElse(live, new_v, v), d, x.v + i, count);
}

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

void small_groups(const Adam::Args<float>& x, int64_t begin, int64_t end) {
  switch (x.shape.group) {
    case 1:
      return groups_of<0>(x, begin, end);
    case 2:
      return groups_of<1>(x, begin, end);
    case 4:
      return groups_of<2>(x, begin, end);
    case 8:
      return groups_of<3>(x, begin, end);
    case 16:
      return groups_of<4>(x, begin, end);
  }
}

/// Entries [begin, end) of one group, whose count is `steps` by now.
void one_group(const Adam::Args<float>& x, int64_t begin, int64_t end, int32_t steps) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto correct1 = hn::Set(d, float(1 - std::pow(double(x.hyper[Adam::beta1]), steps)));
  const auto correct2 = hn::Set(d, float(1 - std::pow(double(x.hyper[Adam::beta2]), steps)));
  const auto all = hn::FirstN(d, size_t(lanes));
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    step(d, x, i, count, load_first(d, x.gradient + i, count), all, correct1, correct2);
  }
}

int64_t lanes() { return int64_t(hn::Lanes(hn::CappedTag<float, 16>())); }

KLAB_SIMD_END(small_groups, one_group, lanes);

#if HWY_ONCE
namespace klab {
namespace {

/// Part k of `parts` of [0, n), cut at multiples of a cache line.
int64_t cut(int64_t n, int64_t k, int64_t parts) { return k >= parts ? n : n / 16 * k / parts * 16; }

void run(const Adam::Args<float>& x) {
  const auto small_groups_of = HWY_DYNAMIC_DISPATCH(small_groups);
  const auto one_group_of = HWY_DYNAMIC_DISPATCH(one_group);
  const int64_t n = x.shape.n, group = x.shape.group;
  const bool several_a_vector = HWY_DYNAMIC_DISPATCH(lanes)() % group == 0;
  constexpr int64_t kWorthThreads = 1 << 14;  // entries; below, waking a thread takes longer than the work
#pragma omp parallel if (n >= kWorthThreads)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    if (several_a_vector) small_groups_of(x, cut(n, k, parts), cut(n, k + 1, parts));
    for (int64_t j = 0; !several_a_vector && j < Adam::groups(x.shape); ++j) {
      const int64_t begin = j * group, size = std::min(n, begin + group) - begin;
      // Small groups go to one thread each, in turn; large ones are cut. A large group that lives is found out
      // at its first gradient mostly, so every thread may look.
      const bool mine = size < kWorthThreads;
      if (mine && j % parts != k) continue;
      const bool live =
          std::any_of(x.gradient + begin, x.gradient + begin + size, [](float g) { return g != 0; });
      const int32_t steps = x.steps[j] + 1;
      if (live && mine) one_group_of(x, begin, begin + size, steps);
      if (live && !mine) one_group_of(x, begin + cut(size, k, parts), begin + cut(size, k + 1, parts), steps);
      if (!mine) {
#pragma omp barrier  // all have read the count; the same groups are large in every thread, so all come here
      }
      if (live && (mine || k == 0)) x.steps[j] = steps;
    }
  }
}

KLAB_VARIANT(Adam, {.run = run,
                    .parent = "03_simd",
                    .tiles = {16},
                    .expect = {.shape = {1 << 23, 2, 0}, .over_parent = 1.3},
                    .was = {"04_skip_zeros"}});

}  // namespace
}  // namespace klab
#endif
