// Where cell_distance turns: occupied cells, a grid without any, distances that a byte cannot hold.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/cell_distance/cell_distance.h"

namespace klab {
namespace {

using Args = CellDistance::Args<double>;
using Drawn = CellDistance::Args<float>;

const Boundary<CellDistance> kOccupied("cell is occupied", {"occupancy"}, {"& 1) != 0"}, kEither,
                                       [](const Args& a, Sides& met) {
                                         for (int64_t b = 0; b < a.shape.cells() / 8; ++b) {
                                           if (a.occupancy[b] != 0) met.holds(true);
                                           if (a.occupancy[b] != 255) met.holds(false);
                                         }
                                       });
const Boundary<CellDistance> kNone(
    "any cell is occupied", {"occupancy"}, {}, kEither,
    [](const Args& a, Sides& met) {
      met.holds(std::any_of(a.occupancy, a.occupancy + a.shape.cells() / 8,
                            [](uint8_t byte) { return byte != 0; }));
    },
    [](const Drawn& x, Generator&) {
      for (int64_t b = 0; b < x.shape.cells() / 8; ++b) drawn(x.occupancy[b]) = 0;
    });
const NoBoundary<CellDistance> kRest(
    {{"/ stride % grid != 0", "an index: lines begin where the coordinate is 0"},
     {"j >= 0 && j < grid", "the two ends of a line, which every line has"},
     {"std::min_element(line", "ends the search for a smaller number early"},
     {"std::max(i, grid - 1 - i)", "ends the search at the farther end of the line"},
     {"std::min(best, std::max<int64_t>(away", "a minimum over whole numbers, which no rounding moves"}});

}  // namespace
}  // namespace klab
