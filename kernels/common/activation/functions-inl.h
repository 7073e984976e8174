// The functions behind activations in vectors of float, each made of one exponential. Included by kernel files inside
// Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_ACTIVATION_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_ACTIVATION_FUNCTIONS_INL_H_
#undef KLAB_KERNELS_COMMON_ACTIVATION_FUNCTIONS_INL_H_
#else
#define KLAB_KERNELS_COMMON_ACTIVATION_FUNCTIONS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/common/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// 1/(1 + e^-x). The sum is of positive numbers, so the error is a few ulp of the result; below -88 it stays at 4.5e-39.
template <class D, class V>
HWY_INLINE V logistic(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp_saturated(d, hn::Neg(x))));
}

/// tanh |x| = q/(2 - q) with q = 1 - e^(-2|x|), which is right to a few ulp however small x is.
template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V size = hn::Abs(x), q = one_minus_exp_minus(d, hn::Add(size, size));
  return hn::CopySignToAbs(hn::Div(q, hn::Sub(hn::Set(d, 2.0F), q)), x);
}

/// e^(-x^2/2), without the factor 1/sqrt(2 pi) of the normal density. Zero where it is below 1.7e-38, or a product with a
/// large x would show it.
template <class D, class V>
HWY_INLINE V normal_exp(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V half = hn::Mul(hn::Mul(x, x), hn::Set(d, 0.5F));
  return hn::IfThenElseZero(hn::Lt(half, hn::Set(d, 87.0F)), exp_minus(d, half));
}

/// (1 + erf(x/sqrt 2))/2, given e = normal_exp(x). With z = |x|/sqrt 2 and t = 1/(1 + 0.3275911 z),
///
///   erf z = 1 - t·P(t)·e^(-z^2),  |error| <= 1.5e-7          P of degree 4
///
/// (Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964, formula 7.1.26.)
template <class D, class V>
HWY_INLINE V normal_cdf(D d, V x, V e) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F);
  const V t = hn::Div(one, hn::MulAdd(hn::Abs(x), hn::Set(d, 0.3275911F * 0.70710678F), one));
  V p = hn::MulAdd(hn::Set(d, 1.061405429F), t, hn::Set(d, -1.453152027F));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741F));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736F));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592F));
  const V beyond = hn::Mul(hn::Mul(hn::Mul(p, t), e), hn::Set(d, 0.5F));  // the tail on x's side
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), beyond, hn::Sub(one, beyond));
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
