// The part of voxel_sh_fwd.cpu.02_rows that 03_prefetch and 04_threads take over as it is.
//
// Included in place, inside the namespaces of a rung: no guard, and no namespace of its own.

using Tag = hn::CappedTag<float, 16>;

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
  const int64_t n = x.shape.n;
  float basis[9];
  sh_basis(voxel_degree(kBasis), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
  for (int k = 0; k < 3; ++k) {
    float value = 0;
    for (int b = 0; b < kBasis; ++b) value += basis[b] * number[k * kBasis + b];
    x.rgb[k * n + i] = value;
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
