// hashtable_bwd.cpu.03_located: where, for many points at once.
//
// CHANGE    a block of points is located in vectors, whichever function a level has; entries and fractions go through L1 to the
//           additions, which are made point by point as before.
// EXPECT    a word for each corner and the choice of the function cost more than the additions do. At least 1.5 times faster.
// NUMERICS  as the parent: an entry's contributions in the order of the points.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"

#include "kernels/common/hashgrid/table_corners-inl.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kBlock = 64;  // points; a multiple of every number of lanes

/// How a table is read.
struct Ways {
  int64_t hash, blend;
};

/// A block of points on one level.
struct Block {
  alignas(64) uint32_t entry[8][kBlock];
  alignas(64) float fraction[3][kBlock];
  alignas(64) float position[3][kBlock];  // of the last, partial block, filled up
};

/// First pass: entries and fractions; lanes are points.
HWY_INLINE void locate(const TableLevel& level, Ways ways, const float* positions, int64_t stride, Block& b) {
  const HashgridF32 d;
  const HashgridU32 du;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t i = 0; i < kBlock; i += lanes) {
    HashgridAxis axis[3];
    for (int k = 0; k < 3; ++k) {
      axis[k] = hashgrid_axis(positions + k * stride + i, level.scale);
      hn::Store(hashtable_fraction(ways.blend, axis[k].fraction), d, b.fraction[k] + i);
    }
    HashgridU entry[8];
    hashtable_corners(level, ways.hash, ways.blend, axis[0].cell, axis[1].cell, axis[2].cell, entry);
    for (int c = 0; c < 8; ++c) hn::Store(entry[c], du, b.entry[c] + i);
  }
}

/// Second pass: point by point, each corner's share to its entry.
template <int kFeatures>
HWY_INLINE void scatter(const Block& b, int64_t count, const float* rows, int64_t stride, float* d_table) {
  for (int64_t i = 0; i < count; ++i)
    for (int c = 0; c < 8; ++c) {
      float weight = 1;
      for (int k = 0; k < 3; ++k) weight *= c >> k & 1 ? b.fraction[k][i] : 1 - b.fraction[k][i];
      float* entry = d_table + int64_t(b.entry[c][i]) * kFeatures;
      for (int f = 0; f < kFeatures; ++f) entry[f] += weight * rows[f * stride + i];
    }
}

template <int kFeatures>
void scatter_level(const TableLevel& level, int64_t l, const HashtableBwd::Args<float>& x) {
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
    scatter<kFeatures>(b, count, rows + i, n, d_table);
  }
}

#include "kernels/hashtable_bwd/cpu/03_located-inl.h"

KLAB_SIMD_ONCE(scatter_any);

#if HWY_ONCE
void run(const HashtableBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(scatter_any)(x); }

KLAB_VARIANT(HashtableBwd, {.run = run,
                            .parent = "02_levels",
                            .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
