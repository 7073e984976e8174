// Cells of the hash encoding on a device: where a point is on a level, and where its corners' entries are. Shared by
// the CUDA rungs of hashgrid_fwd and hashgrid_bwd.
//
// Corner c of a cell is the upper end of axis d where bit d of c is set, so corners 2k and 2k+1 are neighbors
// along x.
#pragma once

#include <type_traits>

#include "kernels/common/cuda.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {
namespace {

/// All levels as one argument of a kernel: 1280 bytes, which reach the threads through the constant cache.
struct HashgridLevels {
  HashgridLevel at[32];
};

inline HashgridLevels hashgrid_device_levels(const HashgridShape& shape) {
  HashgridLevels levels;
  int l = 0;
  for (const HashgridLevel& level : hashgrid_levels(shape)) levels.at[l++] = level;
  return levels;
}

/// One point on one level: lower corner of its cell, and where in the cell it is, in [0, 1).
template <int kDim>
struct HashgridCell {
  uint32_t at[kDim];
  float fraction[kDim];
};

/// The cell of point i of positions [kDim, n].
template <int kDim>
__device__ __forceinline__ HashgridCell<kDim> hashgrid_cell(const float* __restrict__ positions, int64_t n,
                                                            int64_t i, float scale) {
  HashgridCell<kDim> cell;
#pragma unroll
  for (int d = 0; d < kDim; ++d) {
    const float p = positions[d * n + i] * scale + 0.5F;
    cell.at[d] = uint32_t(p);  // truncation is floor: p is positive
    cell.fraction[d] = p - float(cell.at[d]);
  }
  return cell;
}

/// Share of corner c in the interpolation.
template <int kDim>
__device__ __forceinline__ float hashgrid_weight(const HashgridCell<kDim>& cell, int c) {
  float weight = 1;
#pragma unroll
  for (int d = 0; d < kDim; ++d) weight *= c >> d & 1 ? cell.fraction[d] : 1 - cell.fraction[d];
  return weight;
}

/// Entry of corner c, counted from the level's first (layout.h).
template <int kDim>
__device__ __forceinline__ uint32_t hashgrid_entry(const HashgridLevel& level, const HashgridCell<kDim>& cell,
                                                   int c) {
  constexpr uint32_t kPrimeY = kHashgridPrimes[1], kPrimeZ = kHashgridPrimes[2];
  const uint32_t x = cell.at[0] + (c & 1), y = cell.at[1] + (c >> 1 & 1);
  if (!level.dense) {
    uint32_t hash = x ^ y * kPrimeY;
    if constexpr (kDim == 3) hash ^= (cell.at[2] + (c >> 2 & 1)) * kPrimeZ;
    return hash & level.mask;
  }
  const auto row = uint32_t(level.resolution), entries = uint32_t(level.entries);
  uint32_t index = x + y * row;
  if constexpr (kDim == 3) index += (cell.at[2] + (c >> 2 & 1)) * row * row;
  return index < entries ? index : index - entries;  // at most one lap beyond the far border
}

/// Calls f(integral_constant of dim, integral_constant of features) for the shape's, so that kernels know them when
/// they are compiled.
template <class F>
void hashgrid_dispatch(const HashgridShape& shape, F&& f) {
  const auto by_features = [&](auto dim) {
    switch (shape.features) {
      case 1:
        return f(dim, std::integral_constant<int, 1>());
      case 2:
        return f(dim, std::integral_constant<int, 2>());
      case 4:
        return f(dim, std::integral_constant<int, 4>());
      default:
        return f(dim, std::integral_constant<int, 8>());
    }
  };
  if (shape.dim == 2) return by_features(std::integral_constant<int, 2>());
  by_features(std::integral_constant<int, 3>());
}

}  // namespace
}  // namespace klab
