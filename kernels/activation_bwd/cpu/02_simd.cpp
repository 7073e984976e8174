// activation_bwd.cpu.02_simd: slopes without a call, sixteen at a time.
//
// CHANGE    one vector form for each slope. GELU's density is the exponential that its error function takes already.
// EXPECT    some 20 to 30 instructions for a vector in place of a number: ten times at least, but for relu, which the
//           compiler had in vectors already.
// NUMERICS  exponential within 1.7 ulp; error function within 1.5e-7 (kernels/common/activation/functions-inl.h).
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/activation_bwd/activation_bwd.h"

#include "kernels/common/activation/functions-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

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

template <int64_t kind>
void apply_one(const ActivationBwd::Args<float>& x, int64_t i, int64_t end) {
  const float *in = x.x + i, *d_y = x.d_y + i;
  write_run(Tag(), x.d_x + i, end - i, false,
            [in, d_y](const auto& load) HWY_ATTR { return hn::Mul(load(d_y), slope<kind>(load(in))); });
}

/// Elements [i, end).
void apply(const ActivationBwd::Args<float>& x, int64_t i, int64_t end) {
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

KLAB_SIMD_END(apply);

#if HWY_ONCE
namespace klab {
namespace {

void run(const ActivationBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(apply)(x, 0, x.shape.n); }

KLAB_VARIANT(ActivationBwd, {.run = run,
                             .parent = "01_naive",
                             .forward = "01_naive",
                             .tiles = {16, 64},
                             .expect = {.shape = {1 << 23, activation::gelu}, .over_parent = 5}});

}  // namespace
}  // namespace klab
#endif
