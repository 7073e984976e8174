// dropout_fwd.cpu.04_streaming: outputs leave by the line, and are not read first.
//
// CHANGE    beyond the caches the output leaves by streaming stores, if it begins at a line.
// EXPECT    12 bytes an element move where 8 are compulsory: up to 1.5 times beyond the caches.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain, and an output that begins at a multiple of 64 bytes;
//           others are stored plainly.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/dropout_fwd/dropout_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/philox-inl.h"

KLAB_SIMD_BEGIN();

/// Elements [i, end); i is a multiple of 32.
void drop_part(const DropoutFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const uint32_t threshold = dropout_threshold(*x.p);
  drop(x.x, x.y, i, end, threshold, 1 / (1 - *x.p), x.seed, x.offset, stream);
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(drop_part);

#if HWY_ONCE
void run(const DropoutFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const bool stream = worth_streaming(all, all) && reinterpret_cast<uintptr_t>(x.y) % 64 == 0;
  const auto part = HWY_DYNAMIC_DISPATCH(drop_part);
  parallel_ranges(all, all >= kEnough, 64, [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(DropoutFwd, {.run = run,
                          .parent = "03_threads",
                          .tiles = {4, 32, 64},
                          .expect = {.shape = {1 << 23}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
