// softmax_xent_bwd.cpu.04_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows.
// EXPECT    about the number of cores where the memory allows: a row moves 12 bytes per class with the line
//           that a store reads first, for some twenty instructions per vector.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Small batches stay on one thread.
#include <cmath>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/softmax_xent_bwd/cpu/03_simd-inl.h"

// Rows [i, end).
void gradients(const SoftmaxXentBwd::Args<float>& x, int64_t i, int64_t end) {
  const int64_t c = x.shape.c;
  for (; i < end; ++i) {
    const float *row = x.logits + i * c, g = x.d_loss[i];
    float* d = x.d_logits + i * c;
    const int64_t label = x.labels[i];
    const float largest = largest_of(row, c), sum = exponentials(row, d, c, largest);
    x.loss[i] = std::log(sum) + (largest - row[label]);
    multiply(d, c, g / sum);
    d[label] -= g;
  }
}

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  constexpr int64_t kEnough = 1 << 14;  // logits worth waking a team for
  const auto part = HWY_DYNAMIC_DISPATCH(gradients);
  parallel_ranges(x.shape.n, n * c >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(SoftmaxXentBwd, {.run = run,
                              .parent = "03_simd",
                              .forward = "05_threads",
                              .tiles = {16, 64},
                              .expect = {.shape = {4096, 1000}, .over_parent = 1.4},
                              .was = {"05_rows_in_lanes"}});
KLAB_SIMD_CLOSE();
#endif
