// sin(pi·x) and cos(pi·x) of float vectors. Included by kernel files inside Highway's foreach_target, once a target.
//
// x modulo 2 and the nearest quarter turn are exact in float, so there is no error of the argument, however large x
// is. On |r| <= 1/4: sin(pi·r) = r·P(r^2), cos(pi·r) = 1 + r^2·Q(r^2), P and Q of degree 3 by Remez' exchange on
// |r| <= 0.2502, relative errors 0.06u and 0.01u of u = 2^-24. With the roundings of Horner's rule below 2u each.
#if defined(KLAB_KERNELS_COMMON_SINCOS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_SINCOS_INL_H_
#undef KLAB_KERNELS_COMMON_SINCOS_INL_H_
#else
#define KLAB_KERNELS_COMMON_SINCOS_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// sin(pi·x) and cos(pi·x), within 2u of 1. Infinity and NaN give NaN.
template <class D, class V>
HWY_INLINE void sincos_pi(D d, V x, V& sin, V& cos) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const auto c = [d](float v) HWY_ATTR { return hn::Set(d, v); };
  const V turn = hn::NegMulAdd(c(2), hn::Round(hn::Mul(x, c(0.5F))), x);  // in [-1, 1]
  const V quarters = hn::Round(hn::Add(turn, turn));                      // -2 .. 2
  const V r = hn::NegMulAdd(c(0.5F), quarters, turn);                     // in [-1/4, 1/4]
  const V z = hn::Mul(r, r);
  V p = hn::MulAdd(c(-0.58899582162F), z, c(2.54975975414F));
  p = hn::MulAdd(hn::MulAdd(p, z, c(-5.1677076572F)), z, c(3.14159264335F));
  p = hn::Mul(p, r);
  V q = hn::MulAdd(c(0.231357817787F), z, c(-1.33504987648F));
  q = hn::MulAdd(hn::MulAdd(q, z, c(4.05870759331F)), z, c(-4.93480217019F));
  q = hn::MulAdd(q, z, c(1));
  // One quarter turn makes (sin, cos) into (cos, -sin); two change both signs.
  const auto turns = hn::ConvertTo(di, quarters);
  const auto odd = hn::RebindMask(d, hn::Ne(hn::And(turns, hn::Set(di, 1)), hn::Zero(di)));
  const auto sign = [d, di](auto n)
                        HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<30>(hn::And(n, hn::Set(di, 2)))); };
  sin = hn::Xor(hn::IfThenElse(odd, q, p), sign(turns));
  cos = hn::Xor(hn::IfThenElse(odd, p, q), sign(hn::Add(turns, hn::Set(di, 1))));
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
