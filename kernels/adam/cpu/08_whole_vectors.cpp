// adam.cpu.08_whole_vectors: no masks, hyperparameters in registers, two corrections from one exponential.
//
// CHANGE    whole vectors are loaded and stored without masks, the last one of a range alone has them. Hyperparameters are
//           read once: in memory, a store to any array could change them, for all a compiler knows. Lanes of a group hold the
//           same step count, so an even lane computes the correction of m and an odd one that of v; their reciprocals, by an
//           estimate of 14 bits and a step of Newton's where there is one, are spread over the group after.
// EXPECT    four masked loads, three masked stores and seven loads less for each vector, and one of two exponentials and of
//           two divisions: 1.15 times where the arrays are near, less from memory, which does not become faster.
// NUMERICS  a reciprocal and a product for a division: two more roundings.
// NEEDS     groups of two and more for the corrections; an entry alone has no second lane.
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

constexpr int64_t kAhead = 1024;  // entries: 4 KB of each array

/// 1/x, with an error of 1.1u or less.
template <class D, class V>
HWY_INLINE V reciprocal(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const V guess = hn::ApproximateReciprocal(x);  // 14 bits, which a step of Newton's doubles
  return hn::MulAdd(guess, hn::NegMulAdd(x, guess, hn::Set(d, 1.0F)), guess);
#else
  return hn::Div(hn::Set(d, 1.0F), x);  // estimates of 12 bits and less would need a second step
#endif
}

/// 1/(1 - beta^step) for both betas.
template <class V>
struct Corrections {
  V m, v;
};

/// Corrections at the steps of lanes, which are the same for groups of 2^shift lanes. rate1, rate2: -log(beta).
template <int shift, class D, class V>
HWY_INLINE Corrections<V> corrections(D d, V steps, V rate1, V rate2) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (shift > 0) {
    const V rates = hn::OddEven(rate2, rate1);  // of beta1 in even lanes, of beta2 in odd ones
    const V both = reciprocal(d, one_minus_exp_minus(d, hn::Mul(steps, rates)));
    return {hn::DupEven(both), hn::DupOdd(both)};
  }
#endif
  return {reciprocal(d, one_minus_exp_minus(d, hn::Mul(steps, rate1))),
          reciprocal(d, one_minus_exp_minus(d, hn::Mul(steps, rate2)))};
}

/// The hyperparameters in registers.
template <class V>
struct Hyper {
  V rate, beta1, rest1, beta2, rest2, epsilon, l2;

  template <class D>
  HWY_INLINE Hyper(D d, const float* h) {
    rate = hn::Set(d, h[Adam::rate]);
    beta1 = hn::Set(d, h[Adam::beta1]);
    rest1 = hn::Set(d, 1 - h[Adam::beta1]);
    beta2 = hn::Set(d, h[Adam::beta2]);
    rest2 = hn::Set(d, 1 - h[Adam::beta2]);
    epsilon = hn::Set(d, h[Adam::epsilon]);
    l2 = hn::Set(d, h[Adam::l2]);
  }
};

/// A vector, or its first `count` lanes.
template <bool kWhole, class D>
HWY_INLINE hn::Vec<D> load(D d, const float* p, size_t count) {
  if constexpr (kWhole) return hn::LoadU(d, p);
  return load_first(d, p, count);
}
template <bool kWhole, class V, class D>
HWY_INLINE void store(V v, D d, float* p, size_t count) {
  if constexpr (kWhole) {
    hn::StoreU(v, d, p);
  } else {
    store_first(v, d, p, count);
  }
}

/// One step of `count` entries from i on, of those lanes where `live` holds.
template <bool kWhole, class D, class V, class M>
HWY_INLINE void step(D d, const Adam::Args<float>& x, const Hyper<V>& h, int64_t i, size_t count, V gradient,
                     M live, Corrections<V> correct) {
  const V param = load<kWhole>(d, x.param + i, count);
  const V m = load<kWhole>(d, x.m + i, count), v = load<kWhole>(d, x.v + i, count);
  const V g = hn::MulAdd(h.l2, param, gradient);
  const V new_m = hn::MulAdd(h.beta1, m, hn::Mul(h.rest1, g));
  const V new_v = hn::MulAdd(h.beta2, v, hn::Mul(hn::Mul(h.rest2, g), g));
  const V denominator = hn::Add(hn::Sqrt(hn::Mul(new_v, correct.v)), h.epsilon);
  // The correction first: it only enlarges a value that the rate may make denormal.
  const V change = hn::Div(hn::Mul(h.rate, hn::Mul(correct.m, new_m)), denominator);
  store<kWhole>(hn::IfThenElse(live, hn::Sub(param, change), param), d, x.param + i, count);
  store<kWhole>(hn::IfThenElse(live, new_m, m), d, x.m + i, count);
  store<kWhole>(hn::IfThenElse(live, new_v, v), d, x.v + i, count);
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
  const Hyper<hn::Vec<decltype(d)>> h(d, x.hyper);
  const auto rate1 = hn::Set(d, float(-std::log(double(x.hyper[Adam::beta1]))));
  const auto rate2 = hn::Set(d, float(-std::log(double(x.hyper[Adam::beta2]))));
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    if (const int64_t far = i + kAhead; far + lanes <= end) {
      if (!hn::AllTrue(d, hn::Eq(hn::LoadU(d, x.gradient + far), hn::Zero(d)))) {
        __builtin_prefetch(x.param + far, 1);  // for writing
        __builtin_prefetch(x.m + far, 1);
        __builtin_prefetch(x.v + far, 1);
        __builtin_prefetch(x.steps + (far >> shift), 1);
      }
    }
    const auto gradient =
        count == size_t(lanes) ? hn::LoadU(d, x.gradient + i) : load_first(d, x.gradient + i, count);
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
    // Lanes that are skipped may have step 0, whose correction is infinite: the result is not used.
    const auto correct = corrections<shift>(d, hn::ConvertTo(d, steps), rate1, rate2);
    if (count == size_t(lanes)) {
      step<true>(d, x, h, i, count, gradient, hn::RebindMask(d, live), correct);
    } else {
      step<false>(d, x, h, i, count, gradient, hn::RebindMask(d, live), correct);
    }
  }
}

#include "kernels/adam/cpu/03_simd_groups-inl.h"

/// Entries [begin, end) of one group, whose count is `steps` by now.
void one_group(const Adam::Args<float>& x, int64_t begin, int64_t end, int32_t steps) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto correction = [&](float beta)
                              HWY_ATTR { return hn::Set(d, float(1 / (1 - std::pow(double(beta), steps)))); };
  const Corrections<hn::Vec<decltype(d)>> correct = {correction(x.hyper[Adam::beta1]),
                                                     correction(x.hyper[Adam::beta2])};
  const Hyper<hn::Vec<decltype(d)>> h(d, x.hyper);
  const auto all = hn::FirstN(d, size_t(lanes));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes)
    step<true>(d, x, h, i, size_t(lanes), hn::LoadU(d, x.gradient + i), all, correct);
  if (i < end) {
    const size_t count = size_t(end - i);
    step<false>(d, x, h, i, count, load_first(d, x.gradient + i, count), all, correct);
  }
}

KLAB_SIMD_ONCE(small_groups, one_group, lanes);

#if HWY_ONCE
#include "kernels/adam/cpu/05_threads-inl.h"

KLAB_VARIANT(Adam, {.run = run,
                    .parent = "06_prefetch",
                    .tiles = {16},
                    .expect = {.shape = {1 << 20, 2, 0}, .over_parent = 1.15},
                    .when = {{1 << 20, 2, 0}, "memory is near, so that instructions are what takes time"},
                    .was = {"07_one_exponential", "07_paired_corrections"}});
KLAB_SIMD_CLOSE();
#endif
