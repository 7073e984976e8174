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

/// e^r - 1 for |r| <= ln 2/2. Horner's rule split in two, to halve the chain of dependent operations.
template <class D, class V>
HWY_INLINE V exp_core_minus_one(D d, V r) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V r2 = hn::Mul(r, r);
  const V low = hn::MulAdd(hn::Set(d, 0.166665203995F), r, hn::Set(d, 0.49999993432F));
  const V mid = hn::MulAdd(hn::Set(d, 0.00836874508092F), r, hn::Set(d, 0.0416683908344F));
  const V high = hn::MulAdd(hn::Set(d, 0.00138145370821F), r2, mid);
  const V p = hn::MulAdd(high, r2, low);
  return hn::MulAdd(p, r2, r);
}
template <class D, class V>
HWY_INLINE V exp_core(D d, V r) {
  return hwy::HWY_NAMESPACE::Add(exp_core_minus_one(d, r), hwy::HWY_NAMESPACE::Set(d, 1.0F));
}

/// The larger of x and low, the smaller of x and high; a NaN in x stays. Min and Max of x86 return their
/// second operand when one is NaN; elsewhere it takes a comparison and a choice.
template <class D, class V>
HWY_INLINE V at_least(D d, float low, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(hn::Set(d, low), x);
#else
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, low)), hn::Set(d, low), x);
#endif
}
template <class D, class V>
HWY_INLINE V at_most(D d, float high, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Min(hn::Set(d, high), x);
#else
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, high)), hn::Set(d, high), x);
#endif
}

/// exp for -87 <= x <= 88.3, or NaN, which gives NaN. Adding 1.5·2^23 + 127 leaves no bits behind the binary
/// point in the sum, and k + 127, the exponent field of 2^k, in its lowest bits: rounding and conversion in
/// one addition.
template <class D, class V>
HWY_INLINE V exp_in_range(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  const V shift = hn::Set(d, 12582912.0F + 127.0F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896F), shift);
  const V k = hn::Sub(shifted, shift);
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4F), r);
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  return hn::Mul(exp_core(d, r), scale);
}

/// exp without the ends of the range: arguments beyond [-87, 88.3] are treated as the nearest end. So the
/// absolute error below -87 is 1.7e-38, and large results end at 2.2e38. NaN gives NaN. Use it for values
/// that are added to larger ones.
template <class D, class V>
HWY_INLINE V exp_saturated(D d, V x) {
  return exp_in_range(d, at_least(d, -87.0F, at_most(d, 88.3F, x)));
}

/// exp(-x) for x >= 0 (or NaN), with an absolute error of 1.7e-38 above 87.
template <class D, class V>
HWY_INLINE V exp_minus(D d, V x) {
  return exp_in_range(d, at_least(d, -87.0F, hwy::HWY_NAMESPACE::Neg(x)));
}

/// 1 - exp(-x) for x >= 0 without cancellation near 0: with e^r - 1 = q at hand, 1 - 2^k·(1 + q) = (1 - 2^k)
/// - 2^k·q.
template <class D, class V>
HWY_INLINE V one_minus_exp_minus(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  const V y = at_least(d, -87.0F, hn::Neg(x));
  const V shift = hn::Set(d, 12582912.0F + 127.0F);
  const V shifted = hn::MulAdd(y, hn::Set(d, 1.44269504088896F), shift);
  const V k = hn::Sub(shifted, shift);
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693359375F), y);
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4F), r);
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  return hn::NegMulAdd(scale, exp_core_minus_one(d, r), hn::Sub(hn::Set(d, 1.0F), scale));
}

/// exp over the whole range: denormal results are correct to one unit of the last denormal bit, overflow
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
