// Shared by wrong marches through voxels: a ray's pieces become samples.
#pragma once

#include <vector>

#include "reference/voxel_march/voxel_march.h"

namespace klab {

/// A cell's part of a ray.
struct Piece {
  float from, to;
};

/// Outputs from the pieces of each ray, which `march` finds.
inline void march_by(std::vector<Piece> (*march)(const VoxelMarch::Args<float>&, int64_t),
                     const VoxelMarch::Args<float>& x) {
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    x.ray_begin[r] = int32_t(total);
    const std::vector<Piece> pieces = march(x, r);
    full = full || total + int64_t(pieces.size()) > x.shape.capacity;
    if (full) continue;
    for (const Piece& p : pieces) {
      x.t[total] = p.from + 0.5F * (p.to - p.from);
      x.delta[total++] = p.to - p.from;
    }
  }
  x.ray_begin[x.shape.rays] = int32_t(total);
}

}  // namespace klab
