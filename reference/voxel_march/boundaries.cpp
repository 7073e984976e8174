// Where voxel_march turns: rays that miss the box, cells that grow, rays that no longer fit.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {
namespace {

using Args = VoxelMarch::Args<double>;

void each_line(const Args& a, auto&& visit) {
  const float box[4] = {float(a.box[0]), float(a.box[1]), float(a.box[2]), float(a.box[3])};
  for (int64_t r = 0; r < a.shape.rays; ++r) {
    float o[3], d[3];
    for (int64_t axis = 0; axis < 3; ++axis) {
      o[axis] = float(a.origins[axis * a.shape.rays + r]);
      d[axis] = float(a.directions[axis * a.shape.rays + r]);
    }
    visit(VoxelMarch::line(o, d, box, a.shape.grid));
  }
}

const Boundary<VoxelMarch> kHit("entry and exit of the box", {"origins", "directions"}, {"l.enter < l.leave"},
                                kBelow | kAbove, [](const auto& a, Sides& met) {
                                  each_line(
                                      a, [&](const VoxelMarch::Line& l) { met.compare(l.enter, l.leave); });
                                });
const Boundary<VoxelMarch> kNear("entry and the nearest distance", {"origins", "box"},
                                 {"std::max(l.enter, std::min(a, b))"}, kOn | kAbove,
                                 [](const auto& a, Sides& met) {
                                   each_line(a, [&](const VoxelMarch::Line& l) {
                                     met.compare(l.enter, float(a.box[0]));
                                   });
                                 });
const Boundary<VoxelMarch> kFar("exit and the farthest distance", {"origins", "box"},
                                {"std::min(l.leave, std::max(a, b))"}, kBelow | kOn,
                                [](const auto& a, Sides& met) {
                                  each_line(a, [&](const VoxelMarch::Line& l) {
                                    if (l.enter < l.leave) met.compare(l.leave, float(a.box[3]));
                                  });
                                });
const Boundary<VoxelMarch> kTiny("direction along an axis and the least one", {"directions"},
                                 {"std::abs(direction[axis]) < 1e-9F"}, kBelow | kAbove,
                                 [](const auto& a, Sides& met) {
                                   for (int64_t i = 0; i < 3 * a.shape.rays; ++i)
                                     met.compare(std::abs(float(a.directions[i])), 1e-9F);
                                 });
const Boundary<VoxelMarch> kWay("direction along an axis", {"directions"}, {"d > 0 ?", "step[axis] > 0"},
                                kThreeSides, [](const auto& a, Sides& met) {
                                  for (int64_t i = 0; i < 3 * a.shape.rays; ++i)
                                    met.compare(a.directions[i], 0);
                                });
const Boundary<VoxelMarch> kMinusZero("-0 as a direction", {"directions"}, {}, kEither,
                                      [](const auto& a, Sides& met) {
                                        for (int64_t i = 0; i < 3 * a.shape.rays; ++i)
                                          if (a.directions[i] == 0) met.holds(std::signbit(a.directions[i]));
                                      });
const Boundary<VoxelMarch> kGrows("cells grow", {"box"}, {"box[2] != 0"}, kEither,
                                  [](const auto& a, Sides& met) { met.holds(a.box[2] != 0); });
const ResultBoundary<VoxelMarch> kFits("last ray with samples ends where the room ends", {"capacity"},
                                       {"> s.capacity"}, kBelow | kOn, [](const auto& a, Sides& met) {
                                         if (a.shape.rays > 0)
                                           met.compare(int64_t{a.ray_begin[a.shape.rays]}, a.shape.capacity);
                                       });
const NoBoundary<VoxelMarch> kRest(
    {{"bit % 8", "an index: sizes draw every remainder"},
     {": -1;", "the step along an axis, by the sign of the direction"},
     {"std::clamp(at, 0.0F", "the cell at a wall, where every ray from outside enters"},
     {"there < next", "the nearest of three planes, whose order changes along every ray"},
     {"std::min(next, l.leave)", "the last cell of every ray"},
     {"to > from", "pieces without length, where a ray passes an edge"},
     {"l.cell[axis] < 0 || l.cell[axis] >= grid", "the way out, which every ray that meets the box takes"}});

}  // namespace
}  // namespace klab
