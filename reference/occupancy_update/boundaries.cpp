// Where occupancy_update turns: cells never evaluated, and estimates above the value.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/occupancy_update/occupancy_update.h"

namespace klab {

const Boundary<OccupancyUpdate> kDecays("value that decays", {"values", "decays"}, {"x.values[c] > 0"},
                                        kThreeSides, [](const auto& a, Sides& met) {
                                          for (int64_t c = 0; a.shape.decays != 0 && c < a.shape.cells; ++c)
                                            met.compare(a.values[c], 0);
                                        });
const Boundary<OccupancyUpdate> kNone("chosen cell", {"chosen"}, {"x.chosen[i] < 0"}, kThreeSides,
                                      [](const auto& a, Sides& met) {
                                        for (int64_t i = 0; i < a.shape.samples; ++i)
                                          met.compare(a.chosen[i], 0);
                                      });
const Boundary<OccupancyUpdate> kLarger("estimate and value", {"raw", "step_size", "values", "chosen"},
                                        {"std::max(value, std::exp"}, kBelow | kAbove,
                                        [](const auto& a, Sides& met) {
                                          for (int64_t i = 0; i < a.shape.samples; ++i)
                                            if (a.chosen[i] >= 0)
                                              met.compare(std::exp(a.raw[i]) * *a.step_size,
                                                          a.values[a.chosen[i]]);
                                        });
const Boundary<OccupancyUpdate> kKept(
    "decay", {"decay"}, {}, kBelow | kOn, [](const auto& a, Sides& met) { met.compare(*a.decay, 1); },
    [](const auto& x, Generator&) { drawn(*x.decay) = 1; });

}  // namespace klab
