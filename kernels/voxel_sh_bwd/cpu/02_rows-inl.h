// The part of voxel_sh_bwd.cpu.02_rows that 03_prefetch and 04_threads take over as it is.

using Tag = hn::CappedTag<float, 8>;

/// The numbers that each corner adds, by its weight, to its row.
template <int kBasis>
HWY_INLINE void numbers_of(const VoxelShBwd::Args<float>& x, int64_t i, float* number) {
  const int64_t n = x.shape.n;
  float basis[9];
  sh_basis(voxel_degree(kBasis), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
  for (int k = 0; k < 3; ++k) {
    const float rgb = x.rgb[k * n + i], g = x.d_rgb[k * n + i] * (rgb * (1 - rgb));
    for (int b = 0; b < kBasis; ++b) number[k * kBasis + b] = basis[b] * g;
  }
}

template <int kNumbers>
HWY_INLINE void add_row(float weight, const float* number, float* row) {
  const Tag d;
  constexpr int kLanes = int(hn::MaxLanes(Tag())), kWhole = kNumbers / kLanes * kLanes;
  const auto w = hn::Set(d, weight);
  for (int v = 0; v < kWhole; v += kLanes)
    hn::StoreU(hn::MulAdd(w, hn::LoadU(d, number + v), hn::LoadU(d, row + v)), d, row + v);
  for (int v = kWhole; v < kNumbers; ++v) row[v] += weight * number[v];
}
