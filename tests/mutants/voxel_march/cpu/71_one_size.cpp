// voxel_march.cpu.71_one_size: cells of one size where they grow with their distance from the middle.
// Must be caught as Fault::wrong_value: planes are elsewhere.
#include <vector>

#include "reference/voxel_march/voxel_march.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

struct Piece {
  float from, to;
};

std::vector<Piece> march(const VoxelMarch::Args<float>& x, int64_t r) {
  const int64_t rays = x.shape.rays;
  const float o[3] = {x.origins[r], x.origins[rays + r], x.origins[2 * rays + r]};
  const float d[3] = {x.directions[r], x.directions[rays + r], x.directions[2 * rays + r]};
  const float box[3] = {x.box[0], x.box[1], 0};
  std::vector<Piece> pieces;
  VoxelMarch::walk(VoxelMarch::line(o, d, box, x.shape.grid), x.shape.grid,
                   [&](const int32_t* cell, float from, float to) {
                     const uint32_t bit =
                         VoxelMarch::morton(uint32_t(cell[0]), uint32_t(cell[1]), uint32_t(cell[2]));
                     if (x.occupancy[bit / 8] >> (bit % 8) & 1) pieces.push_back({from, to});
                   });
  return pieces;
}

void run(const VoxelMarch::Args<float>& x) {
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

KLAB_MUTANT(VoxelMarch, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
