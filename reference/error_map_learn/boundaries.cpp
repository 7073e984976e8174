// Where error_map_learn turns: rays without a loss or a block, and blocks of which nothing is known.
#include "reference/boundaries.h"
#include "reference/error_map_learn/error_map_learn.h"

namespace klab {

const Boundary<ErrorMapLearn> kCount("ray and count", {"rays", "count"}, {"r >= *x.count"}, kThreeSides,
                                     [](const auto& a, Sides& met) {
                                       for (int64_t r = 0; r < a.shape.rays; ++r)
                                         met.compare(r, int64_t{*a.count});
                                     });
const Boundary<ErrorMapLearn> kBlock("block of a ray", {"block"}, {"x.block[r] < 0"}, kThreeSides,
                                     [](const auto& a, Sides& met) {
                                       for (int64_t r = 0; r < *a.count; ++r) met.compare(a.block[r], 0);
                                     });
const Boundary<ErrorMapLearn> kUnknown("loss of a block", {"losses"}, {"e < 0 ?"}, kThreeSides,
                                       [](const auto& a, Sides& met) {
                                         for (int64_t r = 0; r < *a.count; ++r)
                                           if (a.block[r] >= 0) met.compare(a.losses[a.block[r]], 0);
                                       });
const NoBoundary<ErrorMapLearn> kRest({{"std::max(largest",
                                        "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
