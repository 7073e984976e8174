// batchnorm_inference.cpu.02_threads: a scale and a shift for each channel, channels shared out.
//
// CHANGE    gamma, beta, mean and variance become a scale and a shift, once for each channel; then one fused multiply-add a
//           number, in vectors, and each thread takes a run of channels.
// EXPECT    no root and no division in the loop. In memory one core is near its share of the bandwidth already, as the compiler
//           divides in vectors: there the other cores are the gain, 1.2 times at least. In a cache the divisions are most of it.
// NUMERICS  shift = beta - mean·scale: x and mean are rounded apart, so the error is proportional to their sizes, not to their
//           difference.
// NEEDS     nothing. Little work stays on one thread.
// TRIED     see NOTES.md, cpu.02_threads
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Channels [i, end) of all examples; where hw is 1, examples [i, end).
void normalize(const BatchnormInference::Args<float>& x, int64_t i, int64_t end) {
  const Tag d;
  const int64_t c = x.shape.c, hw = x.shape.hw;
  static thread_local Scratch memory;
  float *scale = memory.floats(2 * c), *shift = scale + c;
  for (int64_t j = 0; j < c; ++j) {
    scale[j] = x.gamma[j] / std::sqrt(x.running_var[j] + *x.epsilon);
    shift[j] = x.beta[j] - x.running_mean[j] * scale[j];
  }
  for (; i < end && hw == 1; ++i) {
    const float* row = x.x + i * c;
    write_run(d, x.y + i * c, c, false, [row, scale, shift](const auto& load) HWY_ATTR {
      return hn::MulAdd(load(row), load(scale), load(shift));
    });
  }
  for (; i < end; ++i) {
    const float* run = x.x + i * hw;
    const V a = hn::Set(d, scale[i % c]), b = hn::Set(d, shift[i % c]);
    write_run(d, x.y + i * hw, hw, false,
              [run, a, b](const auto& load) HWY_ATTR { return hn::MulAdd(load(run), a, b); });
  }
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const BatchnormInference::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.hw == 1 ? x.shape.n : x.shape.n * x.shape.c;
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, x.shape.n * x.shape.c * x.shape.hw >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(BatchnormInference, {.run = run,
                                  .parent = "01_naive",
                                  .tiles = {16, 64},
                                  .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
