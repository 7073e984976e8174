// Where voxel_sh_fwd turns: vertices without a row, positions at borders.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

namespace klab {

const Boundary<VoxelShFwd> kLink("row of a vertex", {"links"}, {"p.row[c] < 0 ?", "p.row[c] >= 0"},
                                 kThreeSides, [](const auto& a, Sides& met) {
                                   for (int64_t v = 0; v < a.shape.vertices(); ++v)
                                     met.compare(a.links[v], 0);
                                 });
const Boundary<VoxelShFwd> kUpper("position and the far border", {"positions"},
                                  {"std::min(int64_t(at), s.grid - 1)"}, kBelow | kOn,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t i = 0; i < 3 * a.shape.n; ++i)
                                      met.compare(a.positions[i], 1);
                                  });
const Boundary<VoxelShFwd> kLower("position", {"positions"}, {}, kOn | kAbove, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < 3 * a.shape.n; ++i) met.compare(a.positions[i], 0);
});
const Boundary<VoxelShFwd> kBorder("position lies between two cells", {"positions", "grid"}, {}, kEither,
                                   [](const auto& a, Sides& met) {
                                     for (int64_t i = 0; i < 3 * a.shape.n; ++i) {
                                       const double at = a.positions[i] * double(a.shape.grid);
                                       met.holds(at == std::floor(at) && at > 0 && at < double(a.shape.grid));
                                     }
                                   });
const Boundary<VoxelShFwd> kColors("harmonics of a color", {"basis"}, {"s.basis == 0", "basis > 0 ?"},
                                   kOn | kAbove,
                                   [](const auto& a, Sides& met) { met.compare(a.shape.basis, 0); });
const NoBoundary<VoxelShFwd> kRest(
    {{"& 1) != 0", "one of the two ends of an edge, of which every cell has both"},
     {"std::max(0.0, std::abs(sum", "a bound of rounding errors, which no kernel computes"},
     {"std::min(slope", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
