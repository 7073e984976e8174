// The part of activation_bwd.cpu.02_simd that 03_threads and 04_streaming take over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// The derivative, in vectors.
template <int64_t kind>
HWY_INLINE V slope(V x) {
  const Tag d;
  const V one = hn::Set(d, 1.0F);
  if constexpr (kind == activation::relu) return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
  if constexpr (kind == activation::tanh) {
    const V t = tanh_of(d, x);
    return hn::NegMulAdd(t, t, one);
  }
  if constexpr (kind == activation::gelu) {
    const V e = normal_exp(d, x);
    return hn::MulAdd(hn::Mul(x, e), hn::Set(d, 0.39894228F), normal_cdf(d, x, e));
  }
  const V s = logistic(d, x);
  if constexpr (kind == activation::sigmoid) return hn::NegMulAdd(s, s, s);
  if constexpr (kind == activation::swish) return hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one));
  return s;
}
