// batchnorm_inference.cpu.03_streaming: outputs leave by the line, and are not read first.
//
// CHANGE    beyond the caches whole lines of the output leave by streaming stores.
// EXPECT    a plain store reads its line before it changes it: 12 bytes a number move where 8 are compulsory. Up to 1.5 times
//           beyond the caches; within them plain stores stay, and where runs are so short that they share many of their
//           lines.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"

#include "hwy/cache_control.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Channels [i, end) of all examples; where hw is 1, examples [i, end).
void normalize(const BatchnormInference::Args<float>& x, int64_t i, int64_t end, bool stream) {
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
    write_run(d, x.y + i * c, c, stream, [row, scale, shift](const auto& load) HWY_ATTR {
      return hn::MulAdd(load(row), load(scale), load(shift));
    });
  }
  for (; i < end; ++i) {
    const float* run = x.x + i * hw;
    const V a = hn::Set(d, scale[i % c]), b = hn::Set(d, shift[i % c]);
    write_run(d, x.y + i * hw, hw, stream,
              [run, a, b](const auto& load) HWY_ATTR { return hn::MulAdd(load(run), a, b); });
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const BatchnormInference::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.hw == 1 ? x.shape.n : x.shape.n * x.shape.c;
  const bool stream =
      worth_streaming(x.shape.n * x.shape.c * x.shape.hw, x.shape.hw == 1 ? x.shape.c : x.shape.hw);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, x.shape.n * x.shape.c * x.shape.hw >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(BatchnormInference, {.run = run,
                                  .parent = "02_threads",
                                  .tiles = {16, 64},
                                  .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
