// activation_fwd.cpu.04_streaming: outputs leave by the line, and are not read first.
//
// CHANGE    beyond the caches whole lines of the output leave by streaming stores.
// EXPECT    a plain store reads its line before it changes it: 12 bytes a number move where 8 are compulsory. Up to 1.5 times
//           beyond the caches; within them plain stores stay.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/activation_fwd/activation_fwd.h"

#include "hwy/cache_control.h"
#include "hwy/contrib/math/math-inl.h"
#include "kernels/common/activation/functions-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

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
void apply_one(const ActivationFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const float* in = x.x + i;
  write_run(Tag(), x.y + i, end - i, stream,
            [in](const auto& load) HWY_ATTR { return value<kind>(load(in)); });
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

/// Elements [i, end).
void apply(const ActivationFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  switch (x.shape.kind) {
    case activation::relu:
      return apply_one<activation::relu>(x, i, end, stream);
    case activation::sigmoid:
      return apply_one<activation::sigmoid>(x, i, end, stream);
    case activation::tanh:
      return apply_one<activation::tanh>(x, i, end, stream);
    case activation::gelu:
      return apply_one<activation::gelu>(x, i, end, stream);
    case activation::swish:
      return apply_one<activation::swish>(x, i, end, stream);
    default:
      return apply_one<activation::softplus>(x, i, end, stream);
  }
}

KLAB_SIMD_ONCE(apply);

#if HWY_ONCE
void run(const ActivationFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const bool stream = worth_streaming(all, all);
  const auto part = HWY_DYNAMIC_DISPATCH(apply);
  parallel_ranges(all, all >= kEnough, 16, [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(ActivationFwd, {.run = run,
                             .parent = "03_threads",
                             .tiles = {16, 64},
                             .expect = {.shape = {1 << 23, activation::gelu}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
