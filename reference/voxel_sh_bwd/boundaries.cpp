// Where voxel_sh_bwd turns: vertices without a row, positions at borders.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

namespace klab {

const Boundary<VoxelShBwd> kLink("row of a vertex", {"links"}, {"row < 0"}, kThreeSides,
                                 [](const auto& a, Sides& met) {
                                   for (int64_t v = 0; v < a.shape.vertices(); ++v)
                                     met.compare(a.links[v], 0);
                                 });
const Boundary<VoxelShBwd> kUpper("position and the far border", {"positions"}, {}, kBelow | kOn,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t i = 0; i < 3 * a.shape.n; ++i)
                                      met.compare(a.positions[i], 1);
                                  });
const Boundary<VoxelShBwd> kLower("position", {"positions"}, {}, kOn | kAbove, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < 3 * a.shape.n; ++i) met.compare(a.positions[i], 0);
});
const Boundary<VoxelShBwd> kBorder("position lies between two cells", {"positions", "grid"}, {}, kEither,
                                   [](const auto& a, Sides& met) {
                                     for (int64_t i = 0; i < 3 * a.shape.n; ++i) {
                                       const double at = a.positions[i] * double(a.shape.grid);
                                       met.holds(at == std::floor(at) && at > 0 && at < double(a.shape.grid));
                                     }
                                   });
const Boundary<VoxelShBwd> kColors("harmonics of a color", {"basis"}, {}, kOn | kAbove,
                                   [](const auto& a, Sides& met) { met.compare(a.shape.basis, 0); });

}  // namespace klab
