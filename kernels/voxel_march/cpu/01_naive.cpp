// voxel_march.cpu.01_naive: from plane to plane, and every cell's bit is read.
//
// CHANGE    the naive loop: find the next of three planes, test the cell's bit, step one cell on.
// EXPECT    time is proportional to the cells crossed, most of them empty; each waits for the comparison
//           before it.
// NUMERICS  bit-exact by contract.
#include <vector>

#include "harness/core/registrar.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {
namespace {

using March = VoxelMarch;

struct Piece {
  float from, to;
};

bool occupied(const uint8_t* bits, const int32_t cell[3]) {
  const uint32_t index = March::morton(uint32_t(cell[0]), uint32_t(cell[1]), uint32_t(cell[2]));
  return bits[index / 8] >> (index % 8) & 1;
}

// Pieces of one ray in occupied cells; returns how many.
int64_t march(const March::Args<float>& x, int64_t r, Piece* out) {
  const int64_t rays = x.shape.rays, grid = x.shape.grid;
  const float o[3] = {x.origins[r], x.origins[rays + r], x.origins[2 * rays + r]};
  const float d[3] = {x.directions[r], x.directions[rays + r], x.directions[2 * rays + r]};
  March::Line l = March::line(o, d, x.box, grid);
  int64_t count = 0;
  for (float from = l.enter; from < l.leave;) {
    const float next[3] = {l.exit(0, l.cell[0]), l.exit(1, l.cell[1]), l.exit(2, l.cell[2])};
    int axis = next[1] < next[0] ? 1 : 0;
    if (next[2] < next[axis]) axis = 2;
    const float to = std::min(next[axis], l.leave);
    if (to > from) {
      if (occupied(x.occupancy, l.cell)) out[count++] = {from, to};
      from = to;
    }
    l.cell[axis] += l.step[axis];
    if (l.cell[axis] < 0 || l.cell[axis] >= grid) break;
  }
  return count;
}

void run(const March::Args<float>& x) {
  const March::Shape& s = x.shape;
  std::vector<Piece> pieces(size_t(s.most()));
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < s.rays; ++r) {
    x.ray_begin[r] = int32_t(total);
    if (full) continue;
    const int64_t count = march(x, r, pieces.data());
    full = total + count > s.capacity;
    if (full) continue;
    for (int64_t i = 0; i < count; ++i, ++total) {
      const float length = pieces[size_t(i)].to - pieces[size_t(i)].from;
      x.t[total] = pieces[size_t(i)].from + 0.5F * length;
      x.delta[total] = length;
    }
  }
  x.ray_begin[s.rays] = int32_t(total);
}

KLAB_VARIANT(VoxelMarch, {.run = run});

}  // namespace
}  // namespace klab
