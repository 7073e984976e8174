// Where total_variation_bwd turns: neighbors of one density.
#include "reference/boundaries.h"
#include "reference/total_variation_bwd/total_variation_bwd.h"

namespace klab {

const Boundary<TotalVariationBwd> kEqual("neighbor and point", {"raw"}, {}, kThreeSides,
                                         [](const auto& a, Sides& met) {
                                           const int64_t n = a.shape.points;
                                           for (int64_t p = 0; p < n; ++p)
                                             for (int64_t m = 1; m < 4; ++m)
                                               met.compare(a.raw[m * n + p], a.raw[p]);
                                         });

}  // namespace klab
