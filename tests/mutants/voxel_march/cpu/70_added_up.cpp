// voxel_march.cpu.70_added_up: the distance of the next plane is the last one's and a step.
// Must be caught as Fault::wrong_value: roundings add up, and a cell near an edge is entered that the ray does not cross.
#include <vector>

#include "reference/voxel_march/voxel_march.h"
#include "tests/mutants/mutant.h"
#include "tests/mutants/voxel_march/pieces.h"

namespace klab {
namespace {

std::vector<Piece> march(const VoxelMarch::Args<float>& x, int64_t r) {
  const int64_t rays = x.shape.rays, grid = x.shape.grid;
  const float o[3] = {x.origins[r], x.origins[rays + r], x.origins[2 * rays + r]};
  const float d[3] = {x.directions[r], x.directions[rays + r], x.directions[2 * rays + r]};
  VoxelMarch::Line l = VoxelMarch::line(o, d, x.box, grid);
  std::vector<Piece> pieces;
  float next[3], step[3];
  for (int axis = 0; axis < 3; ++axis) {
    next[axis] = l.exit(axis, l.cell[axis]);
    step[axis] = std::abs(l.inverse[axis]);
  }
  for (float from = l.enter; from < l.leave;) {
    int axis = next[1] < next[0] ? 1 : 0;
    if (next[2] < next[axis]) axis = 2;
    const float to = std::min(next[axis], l.leave);
    const uint32_t bit = VoxelMarch::morton(uint32_t(l.cell[0]), uint32_t(l.cell[1]), uint32_t(l.cell[2]));
    if (to > from) {
      if (x.occupancy[bit / 8] >> (bit % 8) & 1) pieces.push_back({from, to});
      from = to;
    }
    next[axis] += step[axis];
    l.cell[axis] += l.step[axis];
    if (l.cell[axis] < 0 || l.cell[axis] >= grid) break;
  }
  return pieces;
}

KLAB_MUTANT(VoxelMarch, Fault::wrong_value,
            {.run = [](const VoxelMarch::Args<float>& x) { march_by(march, x); }});

}  // namespace
}  // namespace klab
