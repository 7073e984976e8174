// Where voxel_sh_narrow_fwd turns: vertices without a row, positions at borders, the three formats.
#include "reference/boundaries.h"
#include "reference/voxel_sh_narrow_fwd/voxel_sh_narrow_fwd.h"

namespace klab {

const Boundary<VoxelShNarrowFwd> kLink("row of a vertex", {"links"}, {}, kThreeSides,
                                       [](const auto& a, Sides& met) {
                                         for (int64_t v = 0; v < a.shape.voxels().vertices(); ++v)
                                           met.compare(a.links[v], 0);
                                       });
const Boundary<VoxelShNarrowFwd> kUpper("position and the far border", {"positions"}, {}, kBelow | kOn,
                                        [](const auto& a, Sides& met) {
                                          for (int64_t i = 0; i < 3 * a.shape.n; ++i)
                                            met.compare(a.positions[i], 1);
                                        });
const Boundary<VoxelShNarrowFwd> kColors("harmonics of a color", {"basis"}, {}, kOn | kAbove,
                                         [](const auto& a, Sides& met) { met.compare(a.shape.basis, 0); });
const Boundary<VoxelShNarrowFwd> kFormat("format", {"format"}, {"s.format == narrow_format::int8 ?"},
                                         kThreeSides, [](const auto& a, Sides& met) {
                                           met.compare(a.shape.format, narrow_format::bf16);
                                         });
const NoBoundary<VoxelShNarrowFwd> kRest({{"i % (3 * s.basis)",
                                           "finds the factor of a number, and every number has one"}});

}  // namespace klab
