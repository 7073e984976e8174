// activation_bwd.cpu.04_streaming: outputs leave by the line, and are not read first.
//
// CHANGE    beyond the caches whole lines of the output leave by streaming stores.
// EXPECT    a plain store reads its line before it changes it: 16 bytes a number move where 12 are compulsory. Up to 1.33
//           times beyond the caches; within them plain stores stay.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/activation_bwd/activation_bwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/activation/functions-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/activation_bwd/cpu/02_simd_slope-inl.h"

template <int64_t kind>
void apply_one(const ActivationBwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const float *in = x.x + i, *d_y = x.d_y + i;
  write_run(Tag(), x.d_x + i, end - i, stream,
            [in, d_y](const auto& load) HWY_ATTR { return hn::Mul(load(d_y), slope<kind>(load(in))); });
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

/// Elements [i, end).
void apply(const ActivationBwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
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
void run(const ActivationBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const bool stream = worth_streaming(all, all);
  const auto part = HWY_DYNAMIC_DISPATCH(apply);
  parallel_ranges(all, all >= kEnough, 16, [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(ActivationBwd, {.run = run,
                             .parent = "03_threads",
                             .forward = "01_naive",
                             .tiles = {16, 64},
                             .expect = {.shape = {1 << 23, activation::gelu}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
