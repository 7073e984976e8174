// The part of hashgrid_bwd.cpu.05_runs that 06_read_first takes over as it is.

/// Second pass: the contributions of every run of points in one cell, added to the entries of its corners.
template <int kDim, int kWord, int kFeatures>
HWY_INLINE void scatter(const Block<kDim>& b, int64_t count, float* d_table) {
  Contributions<kDim, kWord> contributions;
  for (int64_t i = 0; i < count;) {
    const int64_t first = i;
    contributions.set(b, i);
    for (++i; i < count && same_cell(b, first, i); ++i) contributions.add(b, i);
    const float* value = contributions.values();
    for (int c = 0; c < 1 << kDim; ++c) {
      float* entry = d_table + int64_t(b.entry[c][first]) * kFeatures;
      for (int f = 0; f < kWord; ++f) entry[f] += value[c * kWord + f];
    }
  }
}
