// cell_distance.cpu.01_naive: one axis after the other, each cell asks all cells of its line.
//
// CHANGE    the naive loops. The largest of three differences can be found axis by axis:
//           out(i) = min over j of max(|i - j|, in(j)).
// EXPECT    three times the edge of the grid in comparisons for each cell, on bytes that lie far apart in two of three
//           passes.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/cell_distance/cell_distance.h"

namespace klab {
namespace {

using Distance = CellDistance;

#include "kernels/cell_distance/cpu/01_naive-inl.h"

KLAB_SCALAR_FUNCTION void run(const Distance::Args<float>& x) {
  const int64_t grid = x.shape.grid;
  mark_cells(x);
  std::vector<int> line(static_cast<size_t>(grid));
  for (const int64_t stride : {int64_t{1}, grid, grid * grid})
    for (int64_t begin = 0; begin < x.shape.cells(); ++begin) {
      if (begin / stride % grid != 0) continue;
      for (int64_t i = 0; i < grid; ++i) line[size_t(i)] = x.distance[begin + i * stride];
      for (int64_t i = 0; i < grid; ++i) {
        int best = Distance::most;
        KLAB_SCALAR_LOOP
        for (int64_t j = 0; j < grid; ++j)
          best = std::min(best, std::max(std::abs(int(i - j)), line[size_t(j)]));
        x.distance[begin + i * stride] = uint8_t(best);
      }
    }
}

KLAB_VARIANT(CellDistance, {.run = run});

}  // namespace
}  // namespace klab
