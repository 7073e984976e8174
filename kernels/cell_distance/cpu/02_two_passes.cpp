// cell_distance.cpu.02_two_passes: neighbors pass distances on, once forward and once backward.
//
// CHANGE    a cell is one farther than the nearest of its 26 neighbors. In a pass from the first cell to the last, 13 of them
//           are known; in the pass back, the other 13.
// EXPECT    26 comparisons a cell, whatever the size of the grid, where the parent has three times its edge: at least 3 times
//           as fast with 64 cells along an edge.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/cell_distance/cell_distance.h"

namespace klab {
namespace {

using Distance = CellDistance;

#include "kernels/cell_distance/cpu/01_naive-inl.h"

/// Lowers the distance of a cell to one more than that of its neighbors before it (`way` -1) or behind it (1).
KLAB_SCALAR_FUNCTION void ask_neighbors(uint8_t* distance, int64_t grid, int64_t way, int64_t column,
                                        int64_t y, int64_t z) {
  int best = distance[(z * grid + y) * grid + column];
  const auto ask = [&](int64_t dx, int64_t dy, int64_t dz) {
    const int64_t at[3] = {column + dx, y + dy, z + dz};
    if (at[0] < 0 || at[1] < 0 || at[2] < 0 || at[0] >= grid || at[1] >= grid || at[2] >= grid) return;
    best = std::min(best, 1 + int(distance[(at[2] * grid + at[1]) * grid + at[0]]));
  };
  ask(way, 0, 0);
  for (int64_t dx = -1; dx <= 1; ++dx) {
    ask(dx, way, 0);
    for (int64_t dy = -1; dy <= 1; ++dy) ask(dx, dy, way);
  }
  distance[(z * grid + y) * grid + column] = uint8_t(best);
}

void run(const Distance::Args<float>& x) {
  const int64_t grid = x.shape.grid;
  mark_cells(x);
  for (int64_t i = 0; i < x.shape.cells(); ++i)
    ask_neighbors(x.distance, grid, -1, i % grid, i / grid % grid, i / (grid * grid));
  for (int64_t i = x.shape.cells() - 1; i >= 0; --i)
    ask_neighbors(x.distance, grid, 1, i % grid, i / grid % grid, i / (grid * grid));
}

KLAB_VARIANT(CellDistance, {.run = run, .parent = "01_naive", .expect = {.shape = {64}, .over_parent = 3}});

}  // namespace
}  // namespace klab
