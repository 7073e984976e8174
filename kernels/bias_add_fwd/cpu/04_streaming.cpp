// bias_add_fwd.cpu.04_streaming: outputs leave by the line, and are not read first.
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
#include "reference/bias_add_fwd/bias_add_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Examples [i, end) where hw is 1, else channels [i, end) of all examples.
void add(const BiasAddFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const Tag d;
  const int64_t c = x.shape.c, hw = x.shape.hw;
  const float* bias = x.bias;
  for (; i < end && hw == 1; ++i) {
    const float* row = x.x + i * c;
    write_run(d, x.y + i * c, c, stream,
              [row, bias](const auto& load) HWY_ATTR { return hn::Add(load(row), load(bias)); });
  }
  for (; i < end; ++i) {
    const float* run = x.x + i * hw;
    const V b = hn::Set(d, bias[i % c]);
    write_run(d, x.y + i * hw, hw, stream,
              [run, b](const auto& load) HWY_ATTR { return hn::Add(load(run), b); });
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(add);

#if HWY_ONCE
void run(const BiasAddFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.hw == 1 ? x.shape.n : x.shape.n * x.shape.c;
  const bool stream =
      worth_streaming(x.shape.n * x.shape.c * x.shape.hw, x.shape.hw == 1 ? x.shape.c : x.shape.hw);
  const auto part = HWY_DYNAMIC_DISPATCH(add);
  parallel_ranges(all, x.shape.n * x.shape.c * x.shape.hw >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(BiasAddFwd, {.run = run,
                          .parent = "03_threads",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
