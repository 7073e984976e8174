// hashgrid_bwd.cpu.03_cells_in_lanes: cells, hashes and fractions of as many points as there are lanes.
//
// CHANGE    a block of points in two passes. The first finds entries and fractions, lanes are points, and
//           leaves them in a buffer in L1. The second adds to the table, corner by corner, as the parent
//           does.
// EXPECT    integer products and hashes of eight corners are most of the parent's instructions, and vectors
//           do them for a whole block; weights, and reads, additions and writes of single floats remain: at
//           least 1.3 times.
// NUMERICS  float; products of a weight in the parent's order. A position's multiply-add rounds once, so a
//           fraction differs in its last bit.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kBlock = 64;  // points; a multiple of every number of lanes

/// A block of points on one level.
template <int kDim>
struct Block {
  alignas(64) uint32_t entry[1 << kDim][kBlock];
  alignas(64) float fraction[kDim][kBlock];
  alignas(64) float position[kDim][kBlock];  // of the last, partial block, filled up
};

/// First pass: entries and fractions; lanes are points.
template <int kDim, bool kDense>
HWY_INLINE void locate(const HashgridLevel& level, const float* positions, int64_t stride, Block<kDim>& b) {
  const HashgridF32 d;
  const HashgridU32 du;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t i = 0; i < kBlock; i += lanes) {
    HashgridAxis axis[3];
    for (int k = 0; k < kDim; ++k) {
      axis[k] = hashgrid_axis(positions + k * stride + i, level.scale);
      hn::Store(axis[k].fraction, d, b.fraction[k] + i);
    }
    if constexpr (kDim == 2) axis[2] = axis[1];
    HashgridU entry[8];
    hashgrid_corners<kDim, kDense>(level, axis[0].cell, axis[1].cell, axis[2].cell, entry);
    for (int c = 0; c < 1 << kDim; ++c) hn::Store(entry[c], du, b.entry[c] + i);
  }
}

/// Second pass: every point's contributions added to the entries of its corners. rows: gradients of its features.
template <int kDim, int kFeatures>
HWY_INLINE void scatter(const Block<kDim>& b, int64_t count, const float* rows, int64_t stride,
                        float* d_table) {
  for (int64_t i = 0; i < count; ++i) {
    for (int c = 0; c < 1 << kDim; ++c) {
      float weight = 1;
      for (int k = 0; k < kDim; ++k) weight *= c >> k & 1 ? b.fraction[k][i] : 1 - b.fraction[k][i];
      float* entry = d_table + int64_t(b.entry[c][i]) * kFeatures;
      for (int f = 0; f < kFeatures; ++f) entry[f] += weight * rows[f * stride + i];
    }
  }
}

template <int kDim, int kFeatures, bool kDense>
void scatter_level(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x) {
  const int64_t n = x.shape.n;
  const float* rows = x.d_features + l * kFeatures * n;
  float* d_table = x.d_table + level.offset * kFeatures;
  Block<kDim> b;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    const bool whole = count == kBlock;
    if (!whole) {
      std::fill_n(b.position[0], kDim * kBlock, 0.0F);
      for (int k = 0; k < kDim; ++k) std::copy_n(x.positions + k * n + i, count, b.position[k]);
    }
    locate<kDim, kDense>(level, whole ? x.positions + i : b.position[0], whole ? n : kBlock, b);
    scatter<kDim, kFeatures>(b, count, rows + i, n, d_table);
  }
}

#include "kernels/hashgrid_bwd/cpu/03_cells_in_lanes-inl.h"

KLAB_SIMD_ONCE(scatter_any);

#if HWY_ONCE
void run(const HashgridBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(scatter_any)(x); }

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "02_level_parallel",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
