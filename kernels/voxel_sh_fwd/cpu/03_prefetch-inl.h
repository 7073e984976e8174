// The part of voxel_sh_fwd.cpu.03_prefetch that 04_threads takes over as it is.

template <int kBasis>
void points(const VoxelShFwd::Args<float>& x, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 64;
  VoxelCorners corners[kBlock];
  const int64_t n = x.shape.n;
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t last = std::min(end, first + kBlock);
    for (int64_t i = first; i < last; ++i) {
      VoxelCorners& at = corners[i - first];
      at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
      for (const int32_t row : at.row) {
        if (row < 0) continue;
        __builtin_prefetch(x.density + row);
        constexpr int64_t kLine = 16;  // floats
        for (int64_t f = 0; f < 3 * kBasis; f += kLine)
          __builtin_prefetch(x.coefficients + row * 3 * kBasis + f);
      }
    }
    for (int64_t i = first; i < last; ++i) {
      const VoxelCorners& at = corners[i - first];
      float raw = 0;
      for (int c = 0; c < 8; ++c) raw += at.weight[c] * (at.row[c] < 0 ? x.empty[0] : x.density[at.row[c]]);
      x.raw[i] = raw;
      if constexpr (kBasis > 0) colors<kBasis>(x, at, i);
    }
    for (int k = 0; kBasis > 0 && k < 3; ++k) logistic(x.rgb + k * n + first, last - first);
  }
}

void all_points(const VoxelShFwd::Args<float>& x, int64_t begin, int64_t end) {
  switch (x.shape.basis) {
    case 0:
      return points<0>(x, begin, end);
    case 1:
      return points<1>(x, begin, end);
    case 4:
      return points<4>(x, begin, end);
    default:
      return points<9>(x, begin, end);
  }
}
