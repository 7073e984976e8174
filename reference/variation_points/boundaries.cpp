// Where variation_points turns: the words of the counter.
#include "reference/boundaries.h"
#include "reference/variation_points/variation_points.h"

namespace klab {
namespace {

using Args = VariationPoints::Args<double>;

const CounterWords<VariationPoints, &Args::seed> kSeed("seed", kHolds);
const CounterWords<VariationPoints, &Args::step> kStep("step");
const NoBoundary<VariationPoints> kRest({{"moved == axis + 1 ?",
                                          "every point has a neighbor along each axis"}});

}  // namespace
}  // namespace klab
