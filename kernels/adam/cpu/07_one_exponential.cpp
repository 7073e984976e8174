// adam.cpu.07_one_exponential: both corrections of a group from one exponential, one division in place of two.
//
// CHANGE    lanes of a group hold the same step count, so an even lane computes the correction of m and an odd one that of v;
//           their reciprocals, by an estimate of 14 bits and a step of Newton's where there is one, are spread over the group
//           after. Hyperparameters are read once, whole vectors have no masks.
// EXPECT    two exponentials, two divisions and a root are most of a vector's instructions: 1.3 times where the arrays are
//           near. Less from memory, which does not become faster; a table of training is mostly there, but with gaps, and
//           what waits for one line cannot compute for the next: a few percent to 1.2 times.
// NUMERICS  a reciprocal and a product for a division: two more roundings.
// NEEDS     groups of two and more; an entry alone has no second lane.
// TRIED     -
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/core/registrar.h"
#include "reference/adam/adam.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adam/cpu/07_one_exponential.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kAhead = 1024;  // entries: 4 KB of each array

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
using DI = hn::RebindToSigned<D>;

/// 1/x, with an error of 1.1u or less.
HWY_INLINE V reciprocal(V x) {
  const D d;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const V guess = hn::ApproximateReciprocal(x);  // 14 bits, which a step of Newton's doubles
  return hn::MulAdd(guess, hn::NegMulAdd(x, guess, hn::Set(d, 1.0F)), guess);
#else
  return hn::Div(hn::Set(d, 1.0F), x);  // estimates of 12 bits and less would need a second step
#endif
}

/// 1/(1 - beta^step) for both betas.
struct Corrections {
  V m, v;
};

/// The hyperparameters, in registers: in memory, a store to any array could change them, for all a compiler knows.
struct Hyper {
  V rate, beta1, rest1, beta2, rest2, epsilon, l2;
  V decay1, decay2, decays;  // -log(beta); decays: of beta1 in even lanes, of beta2 in odd ones

  explicit Hyper(const float* h) {
    const D d;
    rate = hn::Set(d, h[Adam::rate]);
    beta1 = hn::Set(d, h[Adam::beta1]);
    rest1 = hn::Set(d, 1 - h[Adam::beta1]);
    beta2 = hn::Set(d, h[Adam::beta2]);
    rest2 = hn::Set(d, 1 - h[Adam::beta2]);
    epsilon = hn::Set(d, h[Adam::epsilon]);
    l2 = hn::Set(d, h[Adam::l2]);
    decay1 = hn::Set(d, float(-std::log(double(h[Adam::beta1]))));
    decay2 = hn::Set(d, float(-std::log(double(h[Adam::beta2]))));
#if HWY_TARGET != HWY_SCALAR
    decays = hn::OddEven(decay2, decay1);
#endif
  }
};

/// Corrections at the steps of lanes, which are the same for groups of 2^shift lanes.
template <int shift>
HWY_INLINE Corrections corrections(const Hyper& h, V steps) {
  const D d;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (shift > 0) {
    const V both = reciprocal(one_minus_exp_minus(d, hn::Mul(steps, h.decays)));
    return {hn::DupEven(both), hn::DupOdd(both)};
  }
#endif
  return {reciprocal(one_minus_exp_minus(d, hn::Mul(steps, h.decay1))),
          reciprocal(one_minus_exp_minus(d, hn::Mul(steps, h.decay2)))};
}

/// A vector, or its first `count` lanes.
template <bool kWhole>
HWY_INLINE V load(const float* p, size_t count) {
  if constexpr (kWhole) return hn::LoadU(D(), p);
  return load_first(D(), p, count);
}
template <bool kWhole>
HWY_INLINE void store(V v, float* p, size_t count) {
  if constexpr (kWhole) {
    hn::StoreU(v, D(), p);
  } else {
    store_first(v, D(), p, count);
  }
}

/// One step of `count` entries from i on, of those lanes where `live` holds.
template <bool kWhole>
HWY_INLINE void step(const Adam::Args<float>& x, const Hyper& h, int64_t i, size_t count, V gradient, M live,
                     Corrections correct) {
  const V param = load<kWhole>(x.param + i, count);
  const V m = load<kWhole>(x.m + i, count), v = load<kWhole>(x.v + i, count);
  const V g = hn::MulAdd(h.l2, param, gradient);
  const V new_m = hn::MulAdd(h.beta1, m, hn::Mul(h.rest1, g));
  const V new_v = hn::MulAdd(h.beta2, v, hn::Mul(hn::Mul(h.rest2, g), g));
  const V denominator = hn::Add(hn::Sqrt(hn::Mul(new_v, correct.v)), h.epsilon);
  // The correction first: it only makes larger what the rate may make denormal.
  const V change = hn::Div(hn::Mul(h.rate, hn::Mul(correct.m, new_m)), denominator);
  store<kWhole>(hn::IfThenElse(live, hn::Sub(param, change), param), x.param + i, count);
  store<kWhole>(hn::IfThenElse(live, new_m, m), x.m + i, count);
  store<kWhole>(hn::IfThenElse(live, new_v, v), x.v + i, count);
}

/// Groups of 2^shift lanes, of which several whole ones fill a vector.
template <int shift>
class Groups {
 public:
  Groups(const Adam::Args<float>& x) : x_(x), hyper_(x.hyper) {}

  /// Entries [begin, end); begin is a multiple of the lanes.
  HWY_INLINE void run(int64_t begin, int64_t end) const {
    const D d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    const float* gradients = x_.gradient;
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      if (const int64_t far = i + kAhead; far + lanes <= end) {
        if (!hn::AllTrue(d, hn::Eq(hn::LoadU(d, gradients + far), hn::Zero(d)))) {
          __builtin_prefetch(x_.param + far, 1);  // for writing
          __builtin_prefetch(x_.m + far, 1);
          __builtin_prefetch(x_.v + far, 1);
          __builtin_prefetch(x_.steps + (far >> shift), 1);
        }
      }
      const V gradient = hn::LoadU(d, gradients + i);
      if (!hn::AllTrue(d, hn::Eq(gradient, hn::Zero(d)))) vector<true>(i, size_t(lanes), gradient);
    }
    if (i < end) {
      const V gradient = load_first(d, gradients + i, size_t(end - i));
      if (!hn::AllTrue(d, hn::Eq(gradient, hn::Zero(d)))) vector<false>(i, size_t(end - i), gradient);
    }
  }

 private:
  template <bool kWhole>
  HWY_INLINE void vector(int64_t i, size_t count, V gradient) const {
    const D d;
    const DI di;
    // A lane is live when any gradient of its group has a bit other than the sign.
    auto bits = hn::And(hn::BitCast(di, gradient), hn::Set(di, 0x7fffffff));
#if HWY_TARGET != HWY_SCALAR
    if (shift >= 1) bits = hn::Or(bits, hn::Reverse2(di, bits));
    if (shift >= 2) bits = hn::Or(bits, hn::Reverse4(di, bits));
    if (shift >= 3) bits = hn::Or(bits, hn::Reverse8(di, bits));
    if (shift >= 4) bits = hn::Or(bits, hn::Reverse(di, bits));
#endif
    const auto live = hn::Ne(bits, hn::Zero(di));
    int32_t* counts = x_.steps + (i >> shift);
    const size_t groups = (count + (size_t(1) << shift) - 1) >> shift;
    const auto before = spread<kWhole>(counts, groups);
    const auto steps = hn::Sub(before, hn::VecFromMask(di, live));  // a true lane is -1
    gather<kWhole>(steps, counts, groups);
    // Lanes that are skipped may have step 0, whose correction is infinite: what comes of it is not used.
    step<kWhole>(x_, hyper_, i, count, gradient, hn::RebindMask(d, live),
                 corrections<shift>(hyper_, hn::ConvertTo(d, steps)));
  }

  /// Counts of groups to their lanes.
  template <bool kWhole>
  HWY_INLINE hn::Vec<DI> spread(const int32_t* counts, size_t groups) const {
    [[maybe_unused]] const D d;
    const DI di;
    if constexpr (shift == 0) {
      return kWhole ? hn::LoadU(di, counts) : load_first(di, counts, groups);
#if HWY_TARGET != HWY_SCALAR
    } else {
      hn::Vec<DI> first;
      if constexpr (kWhole && shift == 1) {
        first = hn::ZeroExtendVector(di, hn::LoadU(hn::Half<DI>(), counts));
      } else {
        first = load_first(di, counts, groups);
      }
      const auto group_of_lane = hn::IndicesFromVec(d, hn::ShiftRightSame(hn::Iota(di, 0), shift));
      return hn::BitCast(di, hn::TableLookupLanes(hn::BitCast(d, first), group_of_lane));
#endif
    }
  }

  /// Counts of lanes to their groups.
  template <bool kWhole>
  HWY_INLINE void gather(hn::Vec<DI> steps, int32_t* counts, size_t groups) const {
    [[maybe_unused]] const D d;
    const DI di;
    if constexpr (shift == 0) {
      if constexpr (kWhole) {
        hn::StoreU(steps, di, counts);
      } else {
        store_first(steps, di, counts, groups);
      }
#if HWY_TARGET != HWY_SCALAR
    } else {
      const auto lane_of_group = hn::IndicesFromVec(
          d, hn::And(hn::ShiftLeftSame(hn::Iota(di, 0), shift), hn::Set(di, int32_t(hn::Lanes(d)) - 1)));
      const auto packed = hn::BitCast(di, hn::TableLookupLanes(hn::BitCast(d, steps), lane_of_group));
      if constexpr (kWhole && shift == 1) {
        hn::StoreU(hn::LowerHalf(hn::Half<DI>(), packed), hn::Half<DI>(), counts);
      } else {
        store_first(packed, di, counts, groups);
      }
#endif
    }
  }

  const Adam::Args<float>& x_;
  const Hyper hyper_;
};

void small_groups(const Adam::Args<float>& x, int64_t begin, int64_t end) {
#if HWY_TARGET == HWY_SCALAR
  Groups<0>(x).run(begin, end);
#else
  switch (x.shape.group) {
    case 1:
      return Groups<0>(x).run(begin, end);
    case 2:
      return Groups<1>(x).run(begin, end);
    case 4:
      return Groups<2>(x).run(begin, end);
    case 8:
      return Groups<3>(x).run(begin, end);
    case 16:
      return Groups<4>(x).run(begin, end);
  }
#endif
}

/// Entries [begin, end) of one group, whose count is `steps` by now.
void one_group(const Adam::Args<float>& x, int64_t begin, int64_t end, int32_t steps) {
  const D d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const Hyper h(x.hyper);
  const auto correction = [&](float beta)
                              HWY_ATTR { return hn::Set(d, float(1 / (1 - std::pow(double(beta), steps)))); };
  const Corrections correct = {correction(x.hyper[Adam::beta1]), correction(x.hyper[Adam::beta2])};
  const M all = hn::FirstN(d, size_t(lanes));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes)
    step<true>(x, h, i, size_t(lanes), hn::LoadU(d, x.gradient + i), all, correct);
  if (i < end)
    step<false>(x, h, i, size_t(end - i), load_first(d, x.gradient + i, size_t(end - i)), all, correct);
}

int64_t lanes() { return int64_t(hn::Lanes(D())); }

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(small_groups);
HWY_EXPORT(one_group);
HWY_EXPORT(lanes);

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
                    .parent = "06_prefetch",
                    .tiles = {16},
                    .expect = {.shape = {1 << 20, 2, 0}, .over_parent = 1.3},
                    .when = {{1 << 20, 2, 0}, "memory is near, so that arithmetic is what takes time"}});

}  // namespace
}  // namespace klab
#endif
