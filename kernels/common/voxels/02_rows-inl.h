// The part of voxel_sh_fwd.cpu.02_rows that its later rungs and voxel_sh_narrow_fwd.cpu.02_rows take over as it is.

using Tag = hn::CappedTag<float, 16>;

/// The inputs of the logistic function for the colors of point i: its numbers times the harmonics of its direction.
template <int kBasis>
HWY_INLINE void sum_harmonics(const float* number, const float* directions, int64_t n, int64_t i,
                              float* rgb) {
  float basis[9];
  sh_basis(voxel_degree(kBasis), directions[i], directions[n + i], directions[2 * n + i], basis);
  for (int k = 0; k < 3; ++k) {
    float value = 0;
    for (int b = 0; b < kBasis; ++b) value += basis[b] * number[k * kBasis + b];
    rgb[k * n + i] = value;
  }
}

HWY_INLINE void logistic(float* values, int64_t count) {
  const Tag d;
  const auto lanes = int64_t(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0F);
  for (int64_t i = 0; i < count; i += lanes) {
    const auto left = size_t(count - i);
    const auto v = load_first(d, values + i, left);
    store_first(hn::Div(one, hn::Add(one, exp_full(d, hn::Neg(v)))), d, values + i, left);
  }
}
