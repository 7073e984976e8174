// hashgrid_bwd.cpu.05_runs: points in one cell are added up before the table is touched.
//
// CHANGE    the second pass in vectors, too: lanes are the corners and features of one point (8 corners of 2
//           features are 16 lanes), so one multiply-add an axis makes all weights. Contributions stay in registers, all corners at once, while the next point is in the same cell;
//           the table is read and written once a run.
// EXPECT    samples along a ray are closer together than the coarse levels' points: tens of them share a
//           cell of the coarsest level, one or two of the finest. At least 1.2 times faster along rays, the
//           same on random points. It also breaks the chain of additions to one entry, each of which waits
//           for the one before it.
// NUMERICS  a run is summed before it is added to its entry: other bits than the parent, the same bound.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/hashgrid_bwd/cpu/05_runs-inl.h"

#include "kernels/hashgrid_bwd/cpu/05_runs_scatter-inl.h"

template <int kDim, int kFeatures, bool kDense>
void scatter_level(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x) {
  constexpr int kWord = kFeatures < 4 ? kFeatures : 4;
  const int64_t n = x.shape.n;
  const float* rows = x.d_features + l * kFeatures * n;
  float* d_table = x.d_table + level.offset * kFeatures;
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
                           .parent = "03_cells_in_lanes",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 1}, .over_parent = 1.2},
                           .was = {"04_simd"}});
KLAB_SIMD_CLOSE();
#endif
