// hashtable_bwd.cpu.04_runs: points of one cell add up before they are added to the table.
//
// CHANGE    points that follow each other in one cell add their contributions in registers, a lane each, and go to the table
//           together.
// EXPECT    samples along a ray stay in a coarse cell for many points, so most additions to the table are gone there. At least
//           1.5 times faster along rays.
// NUMERICS  float; contributions of a run are added up before the entry's value, in the order of the points.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"

#include "kernels/common/hashgrid/table_corners-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/hashtable_bwd/cpu/04_runs-inl.h"

/// Second pass: the contributions of every run of points in one cell, added to the entries of its corners.
template <int kWord, int kFeatures>
HWY_INLINE void scatter(const Block& b, int64_t count, float* d_table) {
  Contributions<kWord> contributions;
  for (int64_t i = 0; i < count;) {
    const int64_t first = i;
    contributions.set(b, i);
    for (++i; i < count && same_cell(b, first, i); ++i) contributions.add(b, i);
    const float* value = contributions.values();
    for (int c = 0; c < 8; ++c) {
      float* entry = d_table + int64_t(b.entry[c][first]) * kFeatures;
      for (int f = 0; f < kWord; ++f) entry[f] += value[c * kWord + f];
    }
  }
}

template <int kFeatures>
void scatter_level(const TableLevel& level, int64_t l, const HashtableBwd::Args<float>& x) {
  constexpr int kWord = kFeatures < 4 ? kFeatures : 4;
  const int64_t n = x.shape.n;
  const Ways ways{x.shape.hash, x.shape.blend};
  const float* rows = x.d_features + l * kFeatures * n;
  float* d_table = x.d_table + level.offset * kFeatures;
  Block b = {};
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    const bool whole = count == kBlock;
    if (!whole) {
      std::fill_n(b.position[0], 3 * kBlock, 0.0F);
      for (int k = 0; k < 3; ++k) std::copy_n(x.positions + k * n + i, count, b.position[k]);
    }
    locate(level, ways, whole ? x.positions + i : b.position[0], whole ? n : kBlock, b);
    for (int first = 0; first < kFeatures; first += kWord) {
      if (!whole) {
        std::fill_n(b.row[0], 4 * kBlock, 0.0F);
        for (int f = 0; f < kWord; ++f) std::copy_n(rows + (first + f) * n + i, count, b.row[f]);
      }
      spread<kWord>(whole ? rows + first * n + i : b.row[0], whole ? n : kBlock, b);
      scatter<kWord, kFeatures>(b, count, d_table + first);
    }
  }
}

#include "kernels/hashtable_bwd/cpu/03_located-inl.h"

KLAB_SIMD_ONCE(scatter_any);

#if HWY_ONCE
void run(const HashtableBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(scatter_any)(x); }

KLAB_VARIANT(HashtableBwd, {.run = run,
                            .parent = "03_located",
                            .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
