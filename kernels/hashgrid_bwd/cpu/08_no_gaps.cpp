// hashgrid_bwd.cpu.08_no_gaps: the lines that the points to come add to are prefetched, without a gap.
//
// CHANGE    before a point's contributions are added, the lines of another one's corners are prefetched, to be
//           written, 32 points ahead; only in levels too large for the caches near the core. A block is located
//           before the one ahead of it is added, so that its first points are prefetched like all others. Positions and gradients, which stream by, are
//           prefetched well ahead, too.
// EXPECT    an addition waits for its line, and the next point's may go to the same one: the core must find out
//           before it goes ahead, so few lines are in flight. Prefetching within blocks alone leaves out a quarter
//           of the points, and a core full of misses drops its own prefetches first: every block then waits for its
//           positions. 1.35 times or more with 2^18 points.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     room in L1 for two blocks and the lines in flight.
// TRIED     see NOTES.md, cpu.08_no_gaps
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/hashgrid/read_through.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/hashgrid_bwd/cpu/05_runs-inl.h"

constexpr int64_t kAhead = 32;  // points between addition and prefetch

/// Prefetches the lines of the corners of point i of `b`, and of those after it, which are in `next`. Beyond the last point
/// there are entries of earlier ones, and prefetching for these does no harm.
template <int kDim, int kFeatures>
HWY_INLINE void prefetch(const Block<kDim>& b, const Block<kDim>& next, int64_t i, const float* d_table) {
  const Block<kDim>& of = i < kBlock ? b : next;
  for (int c = 0; c < 1 << kDim; ++c)
    __builtin_prefetch(d_table + int64_t(of.entry[c][i % kBlock]) * kFeatures, 1);
}

/// Second pass: the contributions of every run of points in one cell, added to the entries of its corners.
template <int kDim, int kWord, int kFeatures, bool kPrefetch>
HWY_INLINE void scatter(const Block<kDim>& b, const Block<kDim>& next, int64_t count, float* d_table) {
  Contributions<kDim, kWord> contributions;
  for (int64_t i = 0; i < count;) {
    const int64_t first = i;
    if (kPrefetch) prefetch<kDim, kFeatures>(b, next, first + kAhead, d_table);
    contributions.set(b, i);
    for (++i; i < count && same_cell(b, first, i); ++i) contributions.add(b, i);
    const float* value = contributions.values();
    for (int c = 0; c < 1 << kDim; ++c) {
      float* entry = d_table + int64_t(b.entry[c][first]) * kFeatures;
      for (int f = 0; f < kWord; ++f) entry[f] += value[c * kWord + f];
    }
  }
}

constexpr int64_t kNear = 1 << 21;     // bytes of a level that stays near the core
constexpr int64_t kLine = 64;          // bytes of a cache line
constexpr int64_t kLineFloats = 16;    // floats of one
constexpr int64_t kStreamAhead = 256;  // points between location and the streams' prefetch

template <int kDim, int kFeatures, bool kDense>
void scatter_level(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x) {
  constexpr int kWord = kFeatures < 4 ? kFeatures : 4;
  const int64_t n = x.shape.n;
  const float* rows = x.d_features + l * kFeatures * n;
  float* d_table = x.d_table + level.offset * kFeatures;
  const int64_t bytes = level.entries * kFeatures * 4;
  if (n << (kDim - 1) >= bytes / kLine) read_through(d_table, bytes);
  Block<kDim> blocks[2] = {};
  const auto locate_at = [&](int64_t i) HWY_ATTR {
    Block<kDim>& b = blocks[i / kBlock % 2];
    if (i + kBlock <= n) {
      locate<kDim, kDense>(level, x.positions + i, n, b);
    } else {
      std::fill_n(b.position[0], kDim * kBlock, 0.0F);
      for (int k = 0; k < kDim; ++k) std::copy_n(x.positions + k * n + i, n - i, b.position[k]);
      locate<kDim, kDense>(level, b.position[0], kBlock, b);
    }
  };
  if (n > 0) locate_at(0);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    const bool whole = count == kBlock;
    for (int64_t j = i + kStreamAhead; j < i + kStreamAhead + kBlock; j += kLineFloats) {
      for (int k = 0; k < kDim; ++k) __builtin_prefetch(x.positions + k * n + j);
      for (int f = 0; f < kFeatures; ++f) __builtin_prefetch(rows + f * n + j);
    }
    if (i + kBlock < n) locate_at(i + kBlock);
    Block<kDim>& b = blocks[i / kBlock % 2];
    const Block<kDim>& next = blocks[(i / kBlock + 1) % 2];
    for (int first = 0; first < kFeatures; first += kWord) {
      if (!whole) {
        std::fill_n(b.row[0], 4 * kBlock, 0.0F);
        for (int f = 0; f < kWord; ++f) std::copy_n(rows + (first + f) * n + i, count, b.row[f]);
      }
      spread<kDim, kWord>(whole ? rows + first * n + i : b.row[0], whole ? n : kBlock, b);
      if (bytes > kNear) {
        scatter<kDim, kWord, kFeatures, true>(b, next, count, d_table + first);
      } else {
        scatter<kDim, kWord, kFeatures, false>(b, next, count, d_table + first);
      }
    }
  }
}

#include "kernels/hashgrid_bwd/cpu/03_cells_in_lanes-inl.h"

KLAB_SIMD_ONCE(scatter_any);

#if HWY_ONCE
void run(const HashgridBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(scatter_any)(x); }

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "06_read_first",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.35},
                           .was = {"07_ask_points", "07_prefetch_points"}});
KLAB_SIMD_CLOSE();
#endif
