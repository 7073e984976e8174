// hashgrid_bwd.cpu.06_read_first: a level is read through, in order, before points scatter into it.
//
// CHANGE    before a level's points come its gradients: one byte of every line is read, by four interleaved
//           walks through the level. Not if the points are too few to touch most of its lines.
// EXPECT    additions to a level that no cache holds wait for memory, line by line, as many at a time as a
//           core can keep open. Reading in order wakes the prefetcher, which keeps more open than the core
//           does, and 4 MB arrive at the speed of a copy. At least 1.2 times faster at 2^18 points along
//           rays, more where points are fewer.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     a cache that holds a level for each thread.
// TRIED     see NOTES.md, cpu.06_read_first
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/hashgrid/read_through.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/hashgrid_bwd/cpu/05_runs-inl.h"

#include "kernels/hashgrid_bwd/cpu/05_runs_scatter-inl.h"

constexpr int64_t kLine = 64;  // bytes of a cache line

template <int kDim, int kFeatures, bool kDense>
void scatter_level(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x) {
  constexpr int kWord = kFeatures < 4 ? kFeatures : 4;
  const int64_t n = x.shape.n;
  const float* rows = x.d_features + l * kFeatures * n;
  float* d_table = x.d_table + level.offset * kFeatures;
  const int64_t bytes = level.entries * kFeatures * 4;
  if (n << (kDim - 1) >= bytes / kLine) read_through(d_table, bytes);
  Block<kDim> b;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    const bool whole = count == kBlock;
    if (!whole) {
      std::fill_n(b.position[0], kDim * kBlock, 0.0F);
      std::fill_n(b.row[0], 4 * kBlock, 0.0F);
      for (int k = 0; k < kDim; ++k) std::copy_n(x.positions + k * n + i, count, b.position[k]);
    }
    locate<kDim, kDense>(level, whole ? x.positions + i : b.position[0], whole ? n : kBlock, b);
    for (int first = 0; first < kFeatures; first += kWord) {
      if (!whole)
        for (int f = 0; f < kWord; ++f) std::copy_n(rows + (first + f) * n + i, count, b.row[f]);
      spread<kDim, kWord>(whole ? rows + first * n + i : b.row[0], whole ? n : kBlock, b);
      scatter<kDim, kWord, kFeatures>(b, count, d_table + first);
    }
  }
}

#include "kernels/hashgrid_bwd/cpu/03_cells_in_lanes-inl.h"

KLAB_SIMD_ONCE(scatter_any);

#if HWY_ONCE
void run(const HashgridBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(scatter_any)(x); }

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "05_runs",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 1}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
