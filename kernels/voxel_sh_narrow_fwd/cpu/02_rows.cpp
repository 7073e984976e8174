// voxel_sh_narrow_fwd.cpu.02_rows: a vector holds the numbers of a row.
//
// CHANGE    corners outside, numbers inside, as in voxel_sh_fwd.cpu.04_threads: eight or sixteen neighbors are widened by one
//           instruction or two, and the last vector of a row begins early enough to end with it. Rows are prefetched for 64 points
//           first; threads take stretches of points.
// EXPECT    27 bytes lie in one line or two, where floats take two or three: at least 4 times the parent.
// NUMERICS  float, sums in the order of the parent; products fused with sums.
#include <algorithm>
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_narrow_fwd/voxel_sh_narrow_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/formats/widen-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/voxels/02_rows-inl.h"

#include "kernels/voxel_sh_narrow_fwd/cpu/02_rows-inl.h"

/// The inputs of the logistic function for the colors of one point.
template <int kBasis, int64_t kFormat>
HWY_INLINE void colors(const VoxelShNarrowFwd::Args<float>& x, const VoxelCorners& at, int64_t i) {
  using R = RowOf<kBasis, kFormat>;
  const Tag d;
  const auto* table = kFormat == narrow_format::int8 ? reinterpret_cast<const char*>(x.bytes)
                                                     : reinterpret_cast<const char*>(x.halves);
  hn::Vec<Tag> sum[R::kVectors];
  for (auto& v : sum) v = hn::Zero(d);
  for (int c = 0; c < 8; ++c) {
    if (at.row[c] < 0) continue;
    const char* row = table + at.row[c] * R::kNumbers * R::kBytes;
    const auto weight = hn::Set(d, at.weight[c]);
    HWY_ALIGN char copy[R::kLanes * 2] = {};
    if constexpr (R::kNumbers < R::kLanes) {
      std::memcpy(copy, row, size_t(R::kNumbers * R::kBytes));
      row = copy;
    }
    for (int64_t v = 0; v < R::kVectors; ++v)
      sum[v] = hn::MulAdd(weight, widen_from<kFormat>(d, row + R::first(v) * R::kBytes), sum[v]);
  }
  HWY_ALIGN float number[R::kVectors * R::kLanes];
  for (int64_t v = 0; v < R::kVectors; ++v) hn::StoreU(sum[v], d, number + R::first(v));
  if constexpr (kFormat == narrow_format::int8)
    for (int64_t k = 0; k < R::kNumbers; ++k) number[k] *= x.factors[k];
  sum_harmonics<kBasis>(number, x.directions, x.shape.n, i, x.rgb);
}

template <int kBasis, int64_t kFormat>
void points(const VoxelShNarrowFwd::Args<float>& x, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 64;
  VoxelCorners corners[kBlock];
  const int64_t n = x.shape.n;
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t last = std::min(end, first + kBlock);
    for (int64_t i = first; i < last; ++i) {
      VoxelCorners& at = corners[i - first];
      at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
      for (const int32_t row : at.row)
        if (row >= 0) prefetch_row<kBasis, kFormat>(x, row);
    }
    for (int64_t i = first; i < last; ++i) {
      const VoxelCorners& at = corners[i - first];
      float raw = 0;
      for (int c = 0; c < 8; ++c)
        raw += at.weight[c] * (at.row[c] < 0 ? x.empty[0] : float_from_half(x.density[at.row[c]]));
      x.raw[i] = raw;
      if constexpr (kBasis > 0) colors<kBasis, kFormat>(x, at, i);
    }
    for (int k = 0; kBasis > 0 && k < 3; ++k) logistic(x.rgb + k * n + first, last - first);
  }
}

template <int kBasis>
void points_of(const VoxelShNarrowFwd::Args<float>& x, int64_t begin, int64_t end) {
  if (x.shape.format == narrow_format::f16) return points<kBasis, narrow_format::f16>(x, begin, end);
  if (x.shape.format == narrow_format::bf16) return points<kBasis, narrow_format::bf16>(x, begin, end);
  points<kBasis, narrow_format::int8>(x, begin, end);
}

void all_points(const VoxelShNarrowFwd::Args<float>& x, int64_t begin, int64_t end) {
  switch (x.shape.basis) {
    case 0:
      return points_of<0>(x, begin, end);
    case 1:
      return points_of<1>(x, begin, end);
    case 4:
      return points_of<4>(x, begin, end);
    default:
      return points_of<9>(x, begin, end);
  }
}

KLAB_SIMD_ONCE(all_points);

#if HWY_ONCE
constexpr int64_t kStretch = 1024;  // points

void run(const VoxelShNarrowFwd::Args<float>& x) {
  const int64_t n = x.shape.n;
#pragma omp parallel for schedule(dynamic) if (n > kStretch)
  for (int64_t begin = 0; begin < n; begin += kStretch)
    HWY_DYNAMIC_DISPATCH(all_points)(x, begin, std::min(n, begin + kStretch));
}

KLAB_VARIANT(VoxelShNarrowFwd, {.run = run,
                                .parent = "01_naive",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {16, 64, kStretch},
                                .expect = {.shape = {1 << 17, 128, 1 << 18, 9, 2}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
