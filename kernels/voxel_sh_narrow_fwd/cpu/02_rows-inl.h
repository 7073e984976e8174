// The part of voxel_sh_narrow_fwd.cpu.02_rows that 03_sums_in_lanes takes over as it is.

/// How a row lies in vectors.
template <int kBasis, int64_t kFormat>
struct RowOf {
  static constexpr int64_t kBytes = kFormat == narrow_format::int8 ? 1 : 2, kNumbers = 3 * kBasis,
                           kLanes = int64_t(hn::MaxLanes(Tag())), kVectors = (kNumbers + kLanes - 1) / kLanes;
  /// The first number of vector v: the last vector ends with the row, if the row is as long as one.
  static constexpr int64_t first(int64_t v) {
    return std::max<int64_t>(0, std::min(v * kLanes, kNumbers - kLanes));
  }
};

/// Prefetches the lines of a row.
template <int kBasis, int64_t kFormat>
HWY_INLINE void prefetch_row(const VoxelShNarrowFwd::Args<float>& x, int64_t row) {
  using R = RowOf<kBasis, kFormat>;
  __builtin_prefetch(x.density + row);
  const auto* table = kFormat == narrow_format::int8 ? reinterpret_cast<const char*>(x.bytes)
                                                     : reinterpret_cast<const char*>(x.halves);
  constexpr int64_t kRow = R::kNumbers * R::kBytes;
  if constexpr (kRow > 0) {
    __builtin_prefetch(table + row * kRow);
    __builtin_prefetch(table + row * kRow + kRow - 1);
  }
}
