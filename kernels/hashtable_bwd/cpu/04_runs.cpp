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

constexpr int64_t kBlock = 64;  // points; a multiple of every number of lanes

/// How a table is read.
struct Ways {
  int64_t hash, blend;
};

/// A block of points on one level. A word is the unit of additions to the table: up to four features.
struct Block {
  alignas(64) uint32_t entry[8][kBlock];
  alignas(64) float fraction[3][kBlock];
  alignas(64) uint32_t cell[3][kBlock];
  alignas(64) float gradient[kBlock][4];  // of a word, repeated until four
  alignas(64) float position[3][kBlock];  // of the last, partial block, filled up
  alignas(64) float row[4][kBlock];       // gradients of the last, partial block
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
      hn::Store(axis[k].cell, du, b.cell[k] + i);
    }
    HashgridU entry[8];
    hashtable_corners(level, ways.hash, ways.blend, axis[0].cell, axis[1].cell, axis[2].cell, entry);
    for (int c = 0; c < 8; ++c) hn::Store(entry[c], du, b.entry[c] + i);
  }
}

/// Gradients of a word, from rows of features to four floats a point: g0 g1 g0 g1 where a word has two.
template <int kWord>
HWY_INLINE void spread(const float* rows, int64_t stride, Block& b) {
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
template <int kWord>
class Contributions {
  static constexpr int kValues = kWord << 3;

 public:
#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE void set(const Block& b, int64_t i) {
    for (int j = 0; j < kValues; ++j) {
      float weight = 1;
      for (int k = 0; k < 3; ++k) weight *= j / kWord >> k & 1 ? b.fraction[k][i] : 1 - b.fraction[k][i];
      value_[j] = weight * b.gradient[i][j % 4];
    }
  }

  HWY_INLINE void add(const Block& b, int64_t i) {
    Contributions other;
    other.set(b, i);
    for (int j = 0; j < kValues; ++j) value_[j] += other.value_[j];
  }

  HWY_INLINE const float* values() { return value_; }

 private:
#else
  Contributions() {
    for (int k = 0; k < 3; ++k)
      for (int j = 0; j < kValues; ++j) {
        const bool upper = (j / kWord >> k & 1) != 0;
        slope_[k][j] = upper ? 1.0F : -1.0F;
        start_[k][j] = upper ? 0.0F : 1.0F;
      }
  }

  HWY_INLINE void set(const Block& b, int64_t i) {
    for (int v = 0; v < kVectors; ++v) sum_[v] = product(b, i, v);
  }

  HWY_INLINE void add(const Block& b, int64_t i) {
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

  HWY_INLINE hn::Vec<D> product(const Block& b, int64_t i, int v) const {
    const D d;
    auto product = hn::LoadDup128(d, b.gradient[i]);
    for (int k = 0; k < 3; ++k) {
      const auto weight = hn::MulAdd(hn::Load(d, slope_[k] + v * kLanes), hn::Set(d, b.fraction[k][i]),
                                     hn::Load(d, start_[k] + v * kLanes));
      product = hn::Mul(product, weight);
    }
    return product;
  }

  alignas(64) float slope_[3][kValues];  // weight along axis k = start + slope * fraction
  alignas(64) float start_[3][kValues];
  hn::Vec<D> sum_[kVectors];
#endif
  alignas(64) float value_[kValues];
};

HWY_INLINE bool same_cell(const Block& b, int64_t i, int64_t j) {
  uint32_t different = 0;
  for (int k = 0; k < 3; ++k) different |= b.cell[k][i] ^ b.cell[k][j];
  return different == 0;
}

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

template <int kFeatures>
void scatter_all(const HashtableBwd::Args<float>& x) {
  const std::vector<TableLevel> levels = table_levels(x.shape.levels, x.scales, x.sizes);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < x.shape.levels; ++k) {
    const int64_t l = x.shape.levels - 1 - k;
    scatter_level<kFeatures>(levels[size_t(l)], l, x);
  }
}

void scatter_any(const HashtableBwd::Args<float>& x) {
  switch (x.shape.features) {
    case 1:
      return scatter_all<1>(x);
    case 2:
      return scatter_all<2>(x);
    case 4:
      return scatter_all<4>(x);
    case 8:
      return scatter_all<8>(x);
  }
}

KLAB_SIMD_END(scatter_any);

#if HWY_ONCE
namespace klab {
namespace {

void run(const HashtableBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(scatter_any)(x); }

KLAB_VARIANT(HashtableBwd, {.run = run,
                            .parent = "03_located",
                            .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
