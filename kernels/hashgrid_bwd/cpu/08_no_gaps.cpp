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

constexpr int64_t kBlock = 64;  // points; a multiple of every number of lanes

/// A block of points on one level. A word is the unit of additions to the table: up to four features.
template <int kDim>
struct Block {
  alignas(64) uint32_t entry[1 << kDim][kBlock];
  alignas(64) float fraction[kDim][kBlock];
  alignas(64) uint32_t cell[kDim][kBlock];
  alignas(64) float gradient[kBlock][4];     // of a word, repeated until four
  alignas(64) float position[kDim][kBlock];  // of the last, partial block, filled up
  alignas(64) float row[4][kBlock];          // gradients of the last, partial block
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
      hn::Store(axis[k].cell, du, b.cell[k] + i);
    }
    if constexpr (kDim == 2) axis[2] = axis[1];
    HashgridU entry[8];
    hashgrid_corners<kDim, kDense>(level, axis[0].cell, axis[1].cell, axis[2].cell, entry);
    for (int c = 0; c < 1 << kDim; ++c) hn::Store(entry[c], du, b.entry[c] + i);
  }
}

/// Gradients of a word, from rows of features to four floats a point: g0 g1 g0 g1 where a word has two.
template <int kDim, int kWord>
HWY_INLINE void spread(const float* rows, int64_t stride, Block<kDim>& b) {
  const HashgridF32 d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t i = 0; i < kBlock; i += lanes) {
    HashgridF g[4];
    for (int f = 0; f < 4; ++f) g[f] = hn::LoadU(d, rows + (f % kWord) * stride + i);
    hn::StoreInterleaved4(g[0], g[1], g[2], g[3], d, b.gradient[i]);
  }
}

/// Contributions of points to the corners of one cell; value j belongs to corner j / kWord, feature j %
/// kWord.
template <int kDim, int kWord>
class Contributions {
  static constexpr int kValues = kWord << kDim;

 public:
#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE void set(const Block<kDim>& b, int64_t i) {
    for (int j = 0; j < kValues; ++j) {
      float weight = 1;
      for (int k = 0; k < kDim; ++k) weight *= j / kWord >> k & 1 ? b.fraction[k][i] : 1 - b.fraction[k][i];
      value_[j] = weight * b.gradient[i][j % 4];
    }
  }

  HWY_INLINE void add(const Block<kDim>& b, int64_t i) {
    Contributions other;
    other.set(b, i);
    for (int j = 0; j < kValues; ++j) value_[j] += other.value_[j];
  }

  HWY_INLINE const float* values() { return value_; }

 private:
#else
  Contributions() {
    for (int k = 0; k < kDim; ++k)
      for (int j = 0; j < kValues; ++j) {
        const bool upper = (j / kWord >> k & 1) != 0;
        slope_[k][j] = upper ? 1.0F : -1.0F;
        start_[k][j] = upper ? 0.0F : 1.0F;
      }
  }

  HWY_INLINE void set(const Block<kDim>& b, int64_t i) {
    for (int v = 0; v < kVectors; ++v) sum_[v] = product(b, i, v);
  }

  HWY_INLINE void add(const Block<kDim>& b, int64_t i) {
    for (int v = 0; v < kVectors; ++v) sum_[v] = hn::Add(sum_[v], product(b, i, v));
  }

  HWY_INLINE const float* values() {
    for (int v = 0; v < kVectors; ++v) hn::Store(sum_[v], D(), value_ + v * kLanes);
    return value_;
  }

 private:
  using D = hn::CappedTag<float, kValues>;
  static constexpr int kLanes = int(hn::MaxLanes(D()));
  static constexpr int kVectors = kValues / kLanes;

  HWY_INLINE hn::Vec<D> product(const Block<kDim>& b, int64_t i, int v) const {
    const D d;
    auto product = hn::LoadDup128(d, b.gradient[i]);
    for (int k = 0; k < kDim; ++k) {
      const auto weight = hn::MulAdd(hn::Load(d, slope_[k] + v * kLanes), hn::Set(d, b.fraction[k][i]),
                                     hn::Load(d, start_[k] + v * kLanes));
      product = hn::Mul(product, weight);
    }
    return product;
  }

  alignas(64) float slope_[kDim][kValues];  // weight along axis k = start + slope * fraction
  alignas(64) float start_[kDim][kValues];
  hn::Vec<D> sum_[kVectors];
#endif
  alignas(64) float value_[kValues];
};

template <int kDim>
HWY_INLINE bool same_cell(const Block<kDim>& b, int64_t i, int64_t j) {
  uint32_t different = 0;
  for (int k = 0; k < kDim; ++k) different |= b.cell[k][i] ^ b.cell[k][j];
  return different == 0;
}

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

template <int kDim, int kFeatures>
void scatter_all(const HashgridBwd::Args<float>& x) {
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < x.shape.levels; ++k) {
    const int64_t l = x.shape.levels - 1 - k;
    if (levels[size_t(l)].dense) {
      scatter_level<kDim, kFeatures, true>(levels[size_t(l)], l, x);
    } else {
      scatter_level<kDim, kFeatures, false>(levels[size_t(l)], l, x);
    }
  }
}

template <int kDim>
void scatter_dim(const HashgridBwd::Args<float>& x) {
  switch (x.shape.features) {
    case 1:
      return scatter_all<kDim, 1>(x);
    case 2:
      return scatter_all<kDim, 2>(x);
    case 4:
      return scatter_all<kDim, 4>(x);
    case 8:
      return scatter_all<kDim, 8>(x);
  }
}

void scatter_any(const HashgridBwd::Args<float>& x) {
  x.shape.dim == 3 ? scatter_dim<3>(x) : scatter_dim<2>(x);
}

KLAB_SIMD_END(scatter_any);

#if HWY_ONCE
namespace klab {
namespace {

void run(const HashgridBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(scatter_any)(x); }

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "06_read_first",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.35},
                           .was = {"07_ask_points", "07_prefetch_points"}});

}  // namespace
}  // namespace klab
#endif
