// The eight corners of a point's cell in a grid of voxels: their rows and weights.
//
// Written for the host and for devices. A corner's bits select the side of the cell on each axis, x lowest.
#pragma once

#include <cstdint>

#if defined(__CUDACC__) || defined(KLAB_SIMT)
#define KLAB_VOXEL_SIDES __host__ __device__ __forceinline__
#else
#define KLAB_VOXEL_SIDES inline
#endif

namespace klab {
namespace {

struct VoxelCorners {
  int32_t row[8];  // -1: none
  float weight[8];
};

/// Returns the corners for point i of `positions` [3,n], in [0,1]; `links` is [grid+1,grid+1,grid+1].
KLAB_VOXEL_SIDES VoxelCorners voxel_corners(const float* positions, const int32_t* links, int64_t n,
                                            int64_t grid, int64_t i) {
  int32_t cell[3];
  float upper[3], lower[3];
  const auto last = int32_t(grid) - 1;
  for (int axis = 0; axis < 3; ++axis) {
    const float at = positions[axis * n + i] * float(grid);
    const auto whole = int32_t(at);
    cell[axis] = whole < last ? whole : last;
    upper[axis] = at - float(cell[axis]);
    lower[axis] = 1 - upper[axis];
  }
  const int64_t line = grid + 1, plane = line * line;
  const int32_t* at = links + (cell[2] * plane + cell[1] * line + cell[0]);
  VoxelCorners out;
  for (int c = 0; c < 8; ++c) {
    const int x = c & 1, y = c >> 1 & 1, z = c >> 2;
    out.row[c] = at[z * plane + y * line + x];
    out.weight[c] = (x ? upper[0] : lower[0]) * (y ? upper[1] : lower[1]) * (z ? upper[2] : lower[2]);
  }
  return out;
}

/// Returns the degree of the harmonics from their number.
KLAB_VOXEL_SIDES int voxel_degree(int64_t basis) { return basis == 9 ? 2 : basis == 4 ? 1 : 0; }

}  // namespace
}  // namespace klab
