// voxel_march.cpu.71_one_size: cells of one size where they grow with their distance from the middle.
// Must be caught as Fault::wrong_value: planes are elsewhere.
#include <vector>

#include "reference/voxel_march/voxel_march.h"
#include "tests/mutants/mutant.h"
#include "tests/mutants/voxel_march/pieces.h"

namespace klab {
namespace {

std::vector<Piece> march(const VoxelMarch::Args<float>& x, int64_t r) {
  const int64_t rays = x.shape.rays;
  const float o[3] = {x.origins[r], x.origins[rays + r], x.origins[2 * rays + r]};
  const float d[3] = {x.directions[r], x.directions[rays + r], x.directions[2 * rays + r]};
  const float box[4] = {x.box[0], x.box[1], 0, x.box[3]};
  std::vector<Piece> pieces;
  VoxelMarch::walk(VoxelMarch::line(o, d, box, x.shape.grid), x.shape.grid,
                   [&](const int32_t* cell, float from, float to) {
                     const uint32_t bit =
                         VoxelMarch::morton(uint32_t(cell[0]), uint32_t(cell[1]), uint32_t(cell[2]));
                     if (x.occupancy[bit / 8] >> (bit % 8) & 1) pieces.push_back({from, to});
                   });
  return pieces;
}

KLAB_MUTANT(VoxelMarch, Fault::wrong_value,
            {.run = [](const VoxelMarch::Args<float>& x) { march_by(march, x); }});

}  // namespace
}  // namespace klab
