// Where error_map_weigh turns: rays that were not drawn, and the words of the counter.
#include "reference/boundaries.h"
#include "reference/error_map_weigh/error_map_weigh.h"

namespace klab {
namespace {

using Args = ErrorMapWeigh::Args<double>;

const Boundary<ErrorMapWeigh> kDrawn("ray and count", {"rays", "count"},
                                     {"r < *x.count", "drawn ? x.blocks[at] : -1"}, kThreeSides,
                                     [](const auto& a, Sides& met) {
                                       for (int64_t r = 0; r < a.shape.rays; ++r)
                                         met.compare(r, int64_t{*a.count});
                                     });
const CounterWords<ErrorMapWeigh, &Args::seed> kSeed("seed", kHolds);
const CounterWords<ErrorMapWeigh, &Args::step> kStep("step");

}  // namespace
}  // namespace klab
