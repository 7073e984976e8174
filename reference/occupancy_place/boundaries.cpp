// Where occupancy_place turns: places without a cell, the last cascade, the words of the counter.
#include "reference/boundaries.h"
#include "reference/occupancy_place/occupancy_place.h"

namespace klab {
namespace {

using Args = OccupancyPlace::Args<double>;

const Boundary<OccupancyPlace> kNone(
    "chosen cell", {"chosen"}, {"x.chosen[i] < 0"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.samples; ++i) met.compare(a.chosen[i], 0);
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.samples; ++i)
        if (random() % 4 == 0) drawn(x.chosen[i]) = 0;
    });
const Boundary<OccupancyPlace> kCascade("cell lies in the first cascade", {"chosen", "cascades", "first"}, {},
                                        kEither, [](const auto& a, Sides& met) {
                                          const int64_t cube = a.shape.grid * a.shape.grid * a.shape.grid;
                                          for (int64_t i = 0; a.shape.cascades > 1 && i < a.shape.samples;
                                               ++i)
                                            if (a.chosen[i] >= 0)
                                              met.holds(a.shape.first + a.chosen[i] < cube);
                                        });
const CounterWords<OccupancyPlace, &Args::seed> kSeed("seed", kHolds);
const CounterWords<OccupancyPlace, &Args::step> kStep("step");
const NoBoundary<OccupancyPlace> kRest({{"cell % cube", "an index: sizes draw every remainder"}});

}  // namespace
}  // namespace klab
