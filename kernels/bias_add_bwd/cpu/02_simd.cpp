// bias_add_bwd.cpu.02_simd: all channels at once, along the rows.
//
// CHANGE    behind a matrix product all columns are added up at once, four rows at a time; runs of positions in vectors.
// EXPECT    every line is read for all of its 16 numbers, and no chain waits: five times at least.
// NUMERICS  down a column one sum, to which four rows at a time are added; 64 partial sums with 16 lanes along a run.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"

#include "kernels/common/columns-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Channels [j, end).
void sum_up(const BiasAddBwd::Args<float>& x, int64_t j, int64_t end) {
  const Tag d;
  const int64_t n = x.shape.n, c = x.shape.c, hw = x.shape.hw, width = end - j;
  if (hw == 1 && width > 0) {  // columns of a matrix, which go side by side
    static thread_local Scratch memory;
    float* sums = memory.floats(padded(width));
    column_sums(d, x.d_y + j, n, c, width, sums);
    std::copy_n(sums, width, x.d_bias + j);
    return;
  }
  for (; j < end; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += sum_of(d, x.d_y + (i * c + j) * hw, hw);
    x.d_bias[j] = sum;
  }
}

KLAB_SIMD_END(sum_up);

#if HWY_ONCE
namespace klab {
namespace {

void run(const BiasAddBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(sum_up)(x, 0, x.shape.c); }

KLAB_VARIANT(BiasAddBwd, {.run = run,
                          .parent = "01_naive",
                          .forward = "01_naive",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 5}});

}  // namespace
}  // namespace klab
#endif
