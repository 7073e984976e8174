// The part of baked_rays.cpu.03_rows that its later rungs take over as it is.

/// A row of 4·kBasis bytes in vectors of floats.
template <int kBasis>
struct Row {
  using Tag = hn::CappedTag<float, 4 * kBasis>;
  static constexpr int64_t kNumbers = 4 * kBasis, kLanes = int64_t(hn::MaxLanes(Tag())),
                           kVectors = kNumbers / kLanes;
};

/// Rows and weights of the corners of a place.
struct Corners {
  const int8_t* row[8];
  float weight[8];
};

template <int kBasis>
HWY_INLINE Corners corners_of(const BakedRays::Args<float>& x, const BakedRays::Place& at) {
  const int64_t line = x.shape.grid + 1;
  const int32_t* links = x.links + (at.cell[2] * line + at.cell[1]) * line + at.cell[0];
  const float* u = at.upper;
  const float xy[4] = {(1 - u[0]) * (1 - u[1]), u[0] * (1 - u[1]), (1 - u[0]) * u[1], u[0] * u[1]};
  Corners out;
  for (int c = 0; c < 8; ++c) {
    const int32_t row = links[((c >> 2) * line + (c >> 1 & 1)) * line + (c & 1)];
    out.row[c] = x.table + int64_t(row) * Row<kBasis>::kNumbers;
    out.weight[c] = xy[c & 3] * (c >> 2 ? u[2] : 1 - u[2]);
  }
  return out;
}

/// Factors times harmonics: what each number of a row counts in the density and in the three colors of a ray.
template <int kBasis>
HWY_INLINE void weigh_numbers(const BakedRays::Args<float>& x, const Beam& beam, float* out) {
  for (int g = 0; g < 4; ++g)
    for (int b = 0; b < kBasis; ++b)
      out[g * kBasis + b] = g > 0 ? x.factors[g * kBasis + b] * beam.basis[b] : b == 0 ? x.factors[0] : 0;
}

/// Sums the rows of the corners: the logarithm of the density and the inputs of three logistic functions.
template <int kBasis>
HWY_INLINE void sum_rows(const Corners& corners, const float* counts, float* out) {
  using R = Row<kBasis>;
  const typename R::Tag d;
  hn::Vec<typename R::Tag> sum[R::kVectors];
  for (int64_t v = 0; v < R::kVectors; ++v) sum[v] = hn::Zero(d);
  for (int c = 0; c < 8; ++c)
    for (int64_t v = 0; v < R::kVectors; ++v)
      sum[v] = hn::MulAdd(hn::Set(d, corners.weight[c]),
                          widen_from<narrow_format::int8>(d, corners.row[c] + v * R::kLanes), sum[v]);
  HWY_ALIGN float number[R::kNumbers];
  for (int64_t v = 0; v < R::kVectors; ++v)
    hn::StoreU(hn::Mul(sum[v], hn::LoadU(d, counts + v * R::kLanes)), d, number + v * R::kLanes);
  for (int g = 0; g < 4; ++g) {
    out[g] = number[g * kBasis];
    for (int b = 1; b < kBasis; ++b) out[g] += number[g * kBasis + b];
  }
}
