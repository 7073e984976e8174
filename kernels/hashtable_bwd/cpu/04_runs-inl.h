// The part of hashtable_bwd.cpu.04_runs that 05_prefetch takes over as it is.

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
