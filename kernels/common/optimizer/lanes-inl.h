// Steps of optimizers on the processor: as many entries at a time as there are lanes, everything about them in registers.
// Included by kernel files inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_OPTIMIZER_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_OPTIMIZER_LANES_INL_H_
#undef KLAB_KERNELS_COMMON_OPTIMIZER_LANES_INL_H_
#else
#define KLAB_KERNELS_COMMON_OPTIMIZER_LANES_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"
#include "kernels/common/optimizer/coefficients.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace optimizer_lanes {
using hwy::HWY_NAMESPACE::Add;
using hwy::HWY_NAMESPACE::Div;
using hwy::HWY_NAMESPACE::Mul;
using hwy::HWY_NAMESPACE::MulAdd;
using hwy::HWY_NAMESPACE::Set;
using hwy::HWY_NAMESPACE::Sqrt;
using hwy::HWY_NAMESPACE::Sub;
#define KLAB_RULE HWY_INLINE
#include "kernels/common/optimizer/rules-inl.h"
#undef KLAB_RULE
}  // namespace optimizer_lanes

/// Entries [begin, end) of one tensor. Whole vectors by whole loads and stores: a store under a mask, even under a full one, is several
/// times as slow on some processors.
template <Optimizer kind>
HWY_INLINE void optimizer_entries(const OptimizerStep& x, const OptimizerCoefficients& k, int64_t begin,
                                  int64_t end) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr bool kM = kind != Optimizer::sgd, kV = kind == Optimizer::adamw || kind == Optimizer::nadam;
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto some = [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    const auto param = load(x.param + i);
    const auto g = optimizer_lanes::rule_gradient<kind>(d, k, load(x.gradient + i), param);
    auto m = hn::Zero(d), v = hn::Zero(d);
    if constexpr (kM) {
      m = optimizer_lanes::rule_m<kind>(d, k, g, load(x.m + i));
      store(m, x.m + i);
    }
    if constexpr (kV) {
      v = optimizer_lanes::rule_v<kind>(d, k, g, load(x.v + i));
      store(v, x.v + i);
    }
    store(optimizer_lanes::rule_param<kind>(d, k, g, param, m, v), x.param + i);
  };
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    some(
        i, [d](const float* p) HWY_ATTR { return hn::LoadU(d, p); },
        [d](auto value, float* p) HWY_ATTR { hn::StoreU(value, d, p); });
  }
  const size_t count = size_t(end - i);
  if (count > 0)
    some(
        i, [d, count](const float* p) HWY_ATTR { return load_first(d, p, count); },
        [d, count](auto value, float* p) HWY_ATTR { store_first(value, d, p, count); });
}

/// Entries [begin, end) of whichever tensors they belong to. Leaves the step counts alone.
template <Optimizer kind>
HWY_INLINE void optimizer_range(const OptimizerStep& x, int64_t begin, int64_t end) {
  for (int64_t t = 0; t < x.tensors; ++t) {
    const int64_t from = std::max(begin, x.begin(t)), to = std::min(end, x.begin(t + 1));
    if (from >= to) continue;
    const OptimizerCoefficients k = optimizer_coefficients<kind>(x, t);
    optimizer_entries<kind>(x, k, from, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
