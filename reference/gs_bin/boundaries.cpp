// Where gs_bin turns: boxes that end where a tile ends, and lists that just fit.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/gs_bin/gs_bin.h"

namespace klab {

const Boundary<GsBin> kVisible("half width of a box", {"extent"},
                               {"x.extent[i] > 0 && x.extent[s.n + i] > 0"}, kOn | kAbove,
                               [](const auto& a, Sides& met) {
                                 for (int64_t i = 0; i < a.shape.n; ++i) met.compare(a.extent[i], 0);
                               });
const Boundary<GsBin> kHigh("half height of a box that has a width", {"extent"}, {}, kOn | kAbove,
                            [](const auto& a, Sides& met) {
                              for (int64_t i = 0; i < a.shape.n; ++i)
                                if (a.extent[i] > 0) met.compare(a.extent[a.shape.n + i], 0);
                            });
const Boundary<GsBin> kUpper("low end of a box and the picture", {"mean", "extent"},
                             {"std::clamp(std::floor(double(at", "std::max<int64_t>(tile(low), 0)"},
                             kThreeSides, [](const auto& a, Sides& met) {
                               for (int64_t i = 0; i < a.shape.n; ++i)
                                 met.compare(float(a.mean[i]) - float(a.extent[i]), 0);
                             });
const Boundary<GsBin> kLower("high end of a box and the picture", {"mean", "extent", "width"},
                             {"std::min(tile(high) + 1, count)"}, kThreeSides, [](const auto& a, Sides& met) {
                               for (int64_t i = 0; i < a.shape.n; ++i)
                                 met.compare(float(a.mean[i]) + float(a.extent[i]),
                                             float(16 * a.shape.columns()));
                             });
const Boundary<GsBin> kBorder("high end of a box at the border of a tile", {"mean", "extent"}, {}, kEither,
                              [](const auto& a, Sides& met) {
                                for (int64_t i = 0; i < a.shape.n; ++i)
                                  if (a.extent[i] > 0)
                                    met.holds(std::fmod(float(a.mean[i]) + float(a.extent[i]), 16.0F) == 0);
                              });
const ResultBoundary<GsBin> kRoom("entries and room", {"pairs"},
                                  {"std::min(count, s.pairs)", "count < s.pairs"}, kThreeSides,
                                  [](const auto& a, Sides& met) {
                                    if (a.shape.n > 0) met.compare(int64_t{a.needed[0]}, a.shape.pairs);
                                  });

}  // namespace klab
