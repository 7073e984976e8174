// exp of float vectors. Included by kernel files inside Highway's foreach_target, once a target.
//
//   exp(x) = 2^k·e^r,   k = round(x/ln 2),   r = x - k·ln 2 in [-ln 2/2, ln 2/2]
//
// ln 2 is subtracted in two parts, the first with so few bits that k times it is exact (Cody and Waite,
// "Software Manual for the Elementary Functions", 1980). e^r = 1 + r + r^2·P(r), P of degree 4 from Remez'
// exchange on |r| <= 1.0005·ln 2/2 with the relative error as the weight: the polynomial's own error is
// 0.06u, u = 2^-24. Added to it: the last addition (u), r + r^2·P (u·|r|/e^r <= 0.5u) and r itself (0.06u by
// the reduction, which is fused). So the error is below 1.7u, at most 1.7 ulp; a test walks the whole range
// and holds it to that bound.
#if defined(KLAB_KERNELS_COMMON_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_EXP_INL_H_
#undef KLAB_KERNELS_COMMON_EXP_INL_H_
#else
#define KLAB_KERNELS_COMMON_EXP_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// e^r for |r| <= ln 2/2. Horner's rule split in two, to halve the chain of dependent operations.
template <class D, class V>
HWY_INLINE V exp_core(D d, V r) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V r2 = hn::Mul(r, r);
  const V low = hn::MulAdd(hn::Set(d, 0.166665203995F), r, hn::Set(d, 0.49999993432F));
  const V mid = hn::MulAdd(hn::Set(d, 0.00836874508092F), r, hn::Set(d, 0.0416683908344F));
  const V high = hn::MulAdd(hn::Set(d, 0.00138145370821F), r2, mid);
  const V p = hn::MulAdd(high, r2, low);
  return hn::Add(hn::MulAdd(p, r2, r), hn::Set(d, 1.0F));
}

/// exp without the ends of the range: results lie in [2^-125.6, 3.4e38], arguments beyond are treated as the
/// nearest end, so the absolute error below -87 is 1.7e-38. NaN gives NaN. For what is summed with larger
/// things.
template <class D, class V>
HWY_INLINE V exp_saturated(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  // Compare and choose instead of Min and Max, which lose a NaN on some machines.
  x = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.72F)), hn::Set(d, 88.72F), x);
  x = hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.0F)), hn::Set(d, -87.0F), x);
  const V k = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896F)));
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4F), r);
  // e^r is in [0.7, 1.42]; adding k to its exponent field multiplies by 2^k.
  const auto bits = hn::Add(hn::BitCast(di, exp_core(d, r)), hn::ShiftLeft<23>(hn::ConvertTo(di, k)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::BitCast(d, bits));
}

/// exp over the whole range: denormal results are correct to the last denormal bit or one beside it, overflow
/// gives infinity, -infinity gives 0, NaN gives NaN.
template <class D, class V>
HWY_INLINE V exp_full(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const V y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 100.0F)), hn::Set(d, 100.0F),
                             hn::IfThenElse(hn::Lt(x, hn::Set(d, -110.0F)), hn::Set(d, -110.0F), x));
  const V k = hn::Round(hn::Mul(y, hn::Set(d, 1.44269504088896F)));
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693359375F), y);
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4F), r);
  // 2^k in two factors, so that a denormal result is rounded once, by the second, and an overflow overflows.
  const auto whole = hn::ConvertTo(di, k);
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(di, 127);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Mul(hn::Mul(exp_core(d, r), first), second));
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
