// The part of activation_fwd.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// The function, in vectors.
template <int64_t kind>
HWY_INLINE V value(V x) {
  const Tag d;
  if constexpr (kind == activation::relu) return hn::Max(x, hn::Zero(d));
  if constexpr (kind == activation::sigmoid) return logistic(d, x);
  if constexpr (kind == activation::tanh) return tanh_of(d, x);
  if constexpr (kind == activation::gelu) return hn::Mul(x, normal_cdf(d, x, normal_exp(d, x)));
  if constexpr (kind == activation::swish) return hn::Mul(x, logistic(d, x));
  return hn::Add(hn::Max(x, hn::Zero(d)), hn::Log1p(d, exp_minus(d, hn::Abs(x))));
}

template <int64_t kind>
void apply_one(const ActivationFwd::Args<float>& x, int64_t i, int64_t end) {
  const float* in = x.x + i;
  write_run(Tag(), x.y + i, end - i, false,
            [in](const auto& load) HWY_ATTR { return value<kind>(load(in)); });
}

/// Elements [i, end).
void apply(const ActivationFwd::Args<float>& x, int64_t i, int64_t end) {
  switch (x.shape.kind) {
    case activation::relu:
      return apply_one<activation::relu>(x, i, end);
    case activation::sigmoid:
      return apply_one<activation::sigmoid>(x, i, end);
    case activation::tanh:
      return apply_one<activation::tanh>(x, i, end);
    case activation::gelu:
      return apply_one<activation::gelu>(x, i, end);
    case activation::swish:
      return apply_one<activation::swish>(x, i, end);
    default:
      return apply_one<activation::softplus>(x, i, end);
  }
}
