// voxel_sh_narrow_fwd.cpu.03_sums_in_lanes: no number leaves its lane until a point's four sums are taken at once.
//
// CHANGE    the parent widens the eight densities of a point one by one, in a dozen instructions each; stores the sums of its corners in
//           two vectors that overlap; and reads them back to multiply by factors and harmonics, before the stores have reached the
//           cache. Here the densities of 64 points are collected first, and eight are widened by one instruction. Harmonics lie in the
//           lanes of the numbers that they belong to, so factors and harmonics are two products a vector. The lanes of each color,
//           and the densities, are added up together.
// EXPECT    some 90 instructions for densities become 20, and some 80 for harmonics 40, of 450 a point: 1.3 times the parent.
// NUMERICS  float; a color's sum in the order of a tree over its lanes.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

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

/// Lanes of all vectors of a row, at least one.
template <class R>
constexpr int64_t kLanesOf = std::max<int64_t>(1, R::kVectors* R::kLanes);

/// The lane of a number, counted through the vectors of a row. A number that lies in two vectors counts in the first.
template <class R>
constexpr int64_t lane_of(int64_t number) {
  const int64_t v = number / R::kLanes;
  return v * R::kLanes + number - R::first(v);
}

/// All bits in the lanes of a color's numbers.
template <class R>
constexpr std::array<uint32_t, size_t(kLanesOf<R>)> lanes_of_color(int64_t color) {
  std::array<uint32_t, size_t(kLanesOf<R>)> lanes{};
  for (int64_t number = color * R::kNumbers / 3; number < (color + 1) * R::kNumbers / 3; ++number)
    lanes[size_t(lane_of<R>(number))] = 0xFFFFFFFFU;
  return lanes;
}

/// What is known of a block's points before their rows are read.
template <class R>
struct Block {
  static constexpr int64_t kPoints = 64;
  VoxelCorners corners[kPoints];
  alignas(64) uint16_t density[kPoints][8];  // halves, 0 where there is no row
  alignas(64) float harmonics[kPoints][kLanesOf<R>];
};

/// As many lanes as a vector has; those behind the given ones are 0.
template <class V>
HWY_INLINE hn::Vec<Tag> in_all_lanes(V v) {
  if constexpr (std::is_same_v<V, hn::Vec<Tag>>)
    return v;
  else
    return hn::ZeroExtendVector(Tag(), v);
}

/// The weighted densities of a point's corners, in eight lanes or in those of the vector.
template <class R>
HWY_INLINE hn::Vec<Tag> densities(const VoxelShNarrowFwd::Args<float>& x, const Block<R>& block, int64_t p) {
  const hn::CappedTag<float, 8> d8;
  const hn::RebindToSigned<decltype(d8)> di8;
  constexpr int kEach = int(hn::MaxLanes(d8));
  const VoxelCorners& at = block.corners[p];
  auto sum = hn::Zero(d8);
  for (int c = 0; c < 8; c += kEach) {
    const auto none = hn::RebindMask(d8, hn::Lt(hn::LoadU(di8, at.row + c), hn::Zero(di8)));
    const auto stored = widen_from<narrow_format::f16>(d8, block.density[p] + c);
    sum =
        hn::MulAdd(hn::LoadU(d8, at.weight + c), hn::IfThenElse(none, hn::Set(d8, x.empty[0]), stored), sum);
  }
  return in_all_lanes(sum);
}

template <int kBasis, int64_t kFormat>
HWY_INLINE void point(const VoxelShNarrowFwd::Args<float>& x, const Block<RowOf<kBasis, kFormat>>& block,
                      const float* factors, int64_t p, int64_t i) {
  using R = RowOf<kBasis, kFormat>;
  const Tag d;
  const hn::RebindToUnsigned<Tag> du;
  const VoxelCorners& at = block.corners[p];
  const auto* table = kFormat == narrow_format::int8 ? reinterpret_cast<const char*>(x.bytes)
                                                     : reinterpret_cast<const char*>(x.halves);
  // Rows from which a whole vector of a short row can be read.
  [[maybe_unused]] const int64_t whole = x.shape.rows * R::kNumbers - R::kLanes;
  hn::Vec<Tag> sum[std::max<int64_t>(1, R::kVectors)];
  for (auto& v : sum) v = hn::Zero(d);
  for (int c = 0; kBasis > 0 && c < 8; ++c) {
    if (at.row[c] < 0) continue;
    const char* row = table + at.row[c] * R::kNumbers * R::kBytes;
    const auto weight = hn::Set(d, at.weight[c]);
    HWY_ALIGN char copy[R::kLanes * 2] = {};
    if constexpr (R::kNumbers < R::kLanes) {
      if (at.row[c] * R::kNumbers > whole) {
        std::memcpy(copy, row, size_t(R::kNumbers * R::kBytes));
        row = copy;
      }
    }
    for (int64_t v = 0; v < R::kVectors; ++v)
      sum[v] = hn::MulAdd(weight, widen_from<kFormat>(d, row + R::first(v) * R::kBytes), sum[v]);
  }
  hn::Vec<Tag> color[3] = {hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  alignas(64) static constexpr std::array kColors = {lanes_of_color<R>(0), lanes_of_color<R>(1),
                                                     lanes_of_color<R>(2)};
  for (int64_t v = 0; v < R::kVectors; ++v) {
    if constexpr (kFormat == narrow_format::int8)
      sum[v] = hn::Mul(sum[v], hn::Load(d, factors + v * R::kLanes));
    const auto product = hn::Mul(sum[v], hn::Load(d, block.harmonics[p] + v * R::kLanes));
    for (size_t k = 0; k < 3; ++k) {
      const auto lanes = hn::BitCast(d, hn::LoadU(du, kColors[k].data() + v * R::kLanes));
      color[k] = hn::Add(color[k], hn::And(product, lanes));
    }
  }
  float sums[4];
  four_sums(d, densities<R>(x, block, p), color[0], color[1], color[2], sums);
  x.raw[i] = sums[0];
  for (int64_t k = 0; kBasis > 0 && k < 3; ++k) x.rgb[k * x.shape.n + i] = sums[1 + k];
}

template <int kBasis, int64_t kFormat>
void points(const VoxelShNarrowFwd::Args<float>& x, int64_t begin, int64_t end) {
  using R = RowOf<kBasis, kFormat>;
  Block<R> block;
  std::memset(block.harmonics, 0, sizeof block.harmonics);  // lanes of no number
  alignas(64) float factors[kLanesOf<R>] = {};
  if constexpr (kFormat == narrow_format::int8)
    for (int64_t k = 0; k < R::kNumbers; ++k) factors[lane_of<R>(k)] = x.factors[k];
  const int64_t n = x.shape.n;
  for (int64_t first = begin; first < end; first += Block<R>::kPoints) {
    const int64_t last = std::min(end, first + Block<R>::kPoints);
    for (int64_t i = first; i < last; ++i) {
      VoxelCorners& at = block.corners[i - first];
      at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
      for (const int32_t row : at.row)
        if (row >= 0) prefetch_row<kBasis, kFormat>(x, row);
      if constexpr (kBasis > 0) {
        float basis[9];
        sh_basis(voxel_degree(kBasis), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
        for (int64_t number = 0; number < R::kNumbers; ++number)
          block.harmonics[i - first][lane_of<R>(number)] = basis[number % kBasis];
      }
    }
    for (int64_t p = 0; p < last - first; ++p)
      for (int c = 0; c < 8; ++c) {
        const int32_t row = block.corners[p].row[c];
        block.density[p][c] = row < 0 ? uint16_t{0} : x.density[row];
      }
    for (int64_t i = first; i < last; ++i) point<kBasis, kFormat>(x, block, factors, i - first, i);
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
                                .parent = "02_rows",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {16, 64, kStretch},
                                .expect = {.shape = {1 << 17, 128, 1 << 18, 9, 2}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
