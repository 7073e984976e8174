// softmax_xent_fwd.cpu.05_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows, and reads each row once, as 04_online does.
// EXPECT    about the number of cores: the arithmetic left after 03_simd is still more than one core's share
//           of the memory's bandwidth.
// NUMERICS  as 04_online, bit for bit.
// NEEDS     nothing. Small batches stay on one thread; so does a single row, however long.
#include <cmath>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/softmax_xent_fwd/cpu/04_online-inl.h"

// Rows [i, end).
void losses(const SoftmaxXentFwd::Args<float>& x, int64_t i, int64_t end) {
  const int64_t c = x.shape.c;
  for (; i < end; ++i) {
    const float* row = x.logits + i * c;
    const Reduced r = reduce(row, c);
    x.loss[i] = std::log(r.sum) + (r.largest - row[x.labels[i]]);
  }
}

KLAB_SIMD_ONCE(losses);

#if HWY_ONCE
void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  constexpr int64_t kEnough = 1 << 14;  // logits worth waking a team for
  const auto part = HWY_DYNAMIC_DISPATCH(losses);
  parallel_ranges(x.shape.n, n * c >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(SoftmaxXentFwd, {.run = run,
                              .parent = "03_simd",
                              .tiles = {16, 64},
                              .expect = {.shape = {4096, 1000}, .over_parent = 1.5},
                              .was = {"06_rows_in_lanes"}});
KLAB_SIMD_CLOSE();
#endif
