// The part of hashgrid_fwd.cpu.03_simd_gather that 05_prefetch, 06_threads and 07_read_first take over as it is.

/// One feature at a time, four bytes per lane.
template <int kDim, int kFeatures>
HWY_INLINE void by_feature(const HashgridU* entry, const HashgridF* fraction, const float* table, float* out,
                           int64_t out_stride) {
  const HashgridF32 d;
  const hn::RebindToSigned<HashgridF32> di;
  const HashgridU32 du;
  for (int f = 0; f < kFeatures; ++f) {
    HashgridF v[8];
    for (int c = 0; c < 1 << kDim; ++c)
      v[c] = hn::GatherIndex(d, table + f, hn::BitCast(di, hn::Mul(entry[c], hn::Set(du, kFeatures))));
    interpolate<kDim>(v, fraction);
    hn::StoreU(v[0], d, out + f * out_stride);
  }
}

/// Two features at a time. A lane of 64 bits holds both of one point, so a vector holds half of the points:
/// in every 128-bit block `low` has points 0 and 1, `high` has 2 and 3. Fractions and entries are spread the
/// same way.
template <int kDim, int kFeatures>
HWY_INLINE void by_pair(const HashgridU* entry, const HashgridF* fraction, const float* table, float* out,
                        int64_t out_stride) {
#if HWY_TARGET != HWY_SCALAR  // a vector of one lane has no wider lanes
  const HashgridF32 d;
  const HashgridU32 du;
  const hn::RepartitionToWide<HashgridU32> du64;
  const hn::RebindToSigned<decltype(du64)> di64;
  const auto* words = reinterpret_cast<const uint64_t*>(table);
  HashgridF fraction_low[3];
  HashgridF fraction_high[3];
  for (int k = 0; k < kDim; ++k) {
    fraction_low[k] = hn::InterleaveLower(d, fraction[k], fraction[k]);
    fraction_high[k] = hn::InterleaveUpper(d, fraction[k], fraction[k]);
  }
  for (int pair = 0; pair < kFeatures / 2; ++pair) {
    HashgridF low[8];
    HashgridF high[8];
    for (int c = 0; c < 1 << kDim; ++c) {
      const auto word = hn::Mul(entry[c], hn::Set(du, kFeatures / 2));
      const auto index_low = hn::BitCast(di64, hn::ZipLower(du64, word, hn::Zero(du)));
      const auto index_high = hn::BitCast(di64, hn::ZipUpper(du64, word, hn::Zero(du)));
      low[c] = hn::BitCast(d, hn::GatherIndex(du64, words + pair, index_low));
      high[c] = hn::BitCast(d, hn::GatherIndex(du64, words + pair, index_high));
    }
    interpolate<kDim>(low, fraction_low);
    interpolate<kDim>(high, fraction_high);
    // A block of low: p0f0 p0f1 p1f0 p1f1, of high: p2f0 p2f1 p3f0 p3f1. Two rounds of interleaving sort
    // them.
    const auto a = hn::InterleaveLower(d, low[0], high[0]);  // p0f0 p2f0 p0f1 p2f1
    const auto b = hn::InterleaveUpper(d, low[0], high[0]);  // p1f0 p3f0 p1f1 p3f1
    hn::StoreU(hn::InterleaveLower(d, a, b), d, out + (2 * pair) * out_stride);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + (2 * pair + 1) * out_stride);
  }
#endif
}

/// One vector of points: positions[d*stride] to out[f*out_stride].
template <int kDim, int kFeatures, bool kDense>
HWY_INLINE void points(const HashgridLevel& level, const float* positions, int64_t stride, const float* table,
                       float* out, int64_t out_stride) {
  HashgridAxis axis[3];
  for (int k = 0; k < kDim; ++k) axis[k] = hashgrid_axis(positions + k * stride, level.scale);
  if constexpr (kDim == 2) axis[2] = axis[1];
  HashgridU entry[8];
  hashgrid_corners<kDim, kDense>(level, axis[0].cell, axis[1].cell, axis[2].cell, entry);

  const HashgridF fraction[3] = {axis[0].fraction, axis[1].fraction, axis[2].fraction};
  if constexpr (kFeatures == 1 || HWY_TARGET == HWY_SCALAR) {
    by_feature<kDim, kFeatures>(entry, fraction, table, out, out_stride);
  } else {
    by_pair<kDim, kFeatures>(entry, fraction, table, out, out_stride);
  }
}
