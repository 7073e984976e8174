// The part of hashgrid_fwd.cpu.08_prefetch_points that 09_plain_loads takes over as it is.

/// Cells of the points at positions[d*stride].
template <int kDim, bool kDense>
HWY_INLINE void look(const HashgridLevel& level, const float* positions, int64_t stride, Looked& out) {
  HashgridAxis axis[3];
  for (int k = 0; k < kDim; ++k) {
    axis[k] = hashgrid_axis(positions + k * stride, level.scale);
    hn::Store(axis[k].fraction, HashgridF32(), out.fraction[k]);
  }
  if constexpr (kDim == 2) axis[2] = axis[1];
  HashgridU entry[8];
  hashgrid_corners<kDim, kDense>(level, axis[0].cell, axis[1].cell, axis[2].cell, entry);
  for (int c = 0; c < 1 << kDim; ++c) hn::Store(entry[c], HashgridU32(), out.entry[c]);
}
