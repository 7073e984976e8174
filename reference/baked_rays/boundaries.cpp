// Where baked_rays turns: filled cells, rays that miss the box, the end of a ray.
#include <cmath>

#include "reference/baked_rays/baked_rays.h"
#include "reference/boundaries.h"

namespace klab {
namespace {

using Args = BakedRays::Args<double>;

void each_path(const Args& a, auto&& visit) {
  const float settings[4] = {float(a.settings[0]), float(a.settings[1]), float(a.settings[2]),
                             float(a.settings[3])};
  for (int64_t r = 0; r < a.shape.rays; ++r) {
    float o[3], d[3];
    for (int64_t axis = 0; axis < 3; ++axis) {
      o[axis] = float(a.origins[axis * a.shape.rays + r]);
      d[axis] = float(a.directions[axis * a.shape.rays + r]);
    }
    visit(BakedRays::path(o, d, settings, a.shape.grid));
  }
}

const Boundary<BakedRays> kFilled("distance of a cell", {"distance"}, {"x.distance[at.index(s.grid)] != 0"},
                                  kOn | kAbove, [](const Args& a, Sides& met) {
                                    for (int64_t i = 0; i < a.shape.cells(); ++i)
                                      met.compare(a.distance[i], uint8_t{0});
                                  });
const Boundary<BakedRays> kLink("row of a vertex", {"links"}, {}, kThreeSides, [](const Args& a, Sides& met) {
  for (int64_t v = 0; v < a.shape.vertices(); ++v) met.compare(a.links[v], 0);
});
const Boundary<BakedRays> kHit("entry and exit of the box", {"origins", "directions"}, {}, kBelow | kAbove,
                               [](const Args& a, Sides& met) {
                                 each_path(a, [&](const BakedRays::Path& p) {
                                   met.compare(p.line.enter, p.line.leave);
                                 });
                               });
const Boundary<BakedRays> kNear("entry and the nearest distance", {"origins", "settings"}, {}, kOn | kAbove,
                                [](const Args& a, Sides& met) {
                                  each_path(a, [&](const BakedRays::Path& p) {
                                    met.compare(p.line.enter, float(a.settings[0]));
                                  });
                                });
const Boundary<BakedRays> kWay("direction along an axis", {"directions"}, {}, kThreeSides,
                               [](const Args& a, Sides& met) {
                                 for (int64_t i = 0; i < 3 * a.shape.rays; ++i)
                                   met.compare(a.directions[i], 0);
                               });
const ResultBoundary<BakedRays> kStop("transmittance and where a ray ends", {"settings", "table"},
                                      {"T.value < stop"}, kBelow | kAbove, [](const Args& a, Sides& met) {
                                        for (int64_t r = 0; r < a.shape.rays; ++r)
                                          met.compare(1 - a.opacity[r], a.settings[3]);
                                      });
const Boundary<BakedRays> kNeverStops("transmittance where a ray ends, and 0", {"settings"}, {}, kOn | kAbove,
                                      [](const Args& a, Sides& met) { met.compare(a.settings[3], 0); });
const Boundary<BakedRays> kHarmonics("harmonics of a color", {"basis"}, {}, kOn | kAbove,
                                     [](const Args& a, Sides& met) { met.compare(a.shape.basis, 1); });
const NoBoundary<BakedRays> kRest(
    {{"std::clamp(int32_t(at), 0", "the cell at a wall, where every ray from outside enters"},
     {"std::clamp(at - float(out.cell[axis]), 0.0F", "the same, for the weights in that cell"},
     {"<= (4 * v.error", "a bound of rounding errors, which no kernel computes"},
     {"std::max(0.0, std::abs(sum.value)", "a bound of rounding errors, which no kernel computes"},
     {"std::max(brightest", "a bound of rounding errors, which no kernel computes"},
     {"jump > 0 ?", "a bound of rounding errors, which no kernel computes"},
     {"& 1) != 0", "one of the two ends of an edge, of which every cell has both"}});

}  // namespace
}  // namespace klab
