// The part of voxel_sh_fwd.cpu.02_rows that 03_prefetch and 04_threads take over as it is.

/// The inputs of the logistic function for the colors of one point.
template <int kBasis>
HWY_INLINE void colors(const VoxelShFwd::Args<float>& x, const VoxelCorners& at, int64_t i) {
  const Tag d;
  constexpr size_t kLanes = hn::MaxLanes(Tag()), kNumbers = 3 * kBasis,
                   kVectors = (kNumbers + kLanes - 1) / kLanes;
  hn::Vec<Tag> sum[kVectors];
  for (auto& v : sum) v = hn::Zero(d);
  for (int c = 0; c < 8; ++c) {
    if (at.row[c] < 0) continue;
    const float* row = x.coefficients + at.row[c] * int64_t(kNumbers);
    const auto weight = hn::Set(d, at.weight[c]);
    for (size_t v = 0; v < kVectors; ++v)
      sum[v] = hn::MulAdd(weight, load_first(d, row + v * kLanes, kNumbers - v * kLanes), sum[v]);
  }
  HWY_ALIGN float number[kVectors * kLanes];
  for (size_t v = 0; v < kVectors; ++v) hn::Store(sum[v], d, number + v * kLanes);
  sum_harmonics<kBasis>(number, x.directions, x.shape.n, i, x.rgb);
}
