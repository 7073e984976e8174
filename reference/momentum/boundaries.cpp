// Where momentum turns: the first step, averages that are corrected, tensors without decay or parameters.
#include "reference/momentum/momentum.h"
#include "reference/sgd/optimizer_boundaries.h"

namespace klab {
namespace {

using Args = Momentum::Args<double>;

const optimizer::FamilyBoundaries<Momentum> kFamily;
const optimizer::FirstStep<Momentum> kFirst;
const Boundary<Momentum> kCorrected("average is corrected", {"corrected", "steps"},
                                    {"x.shape.corrected != 0"}, kEither,
                                    [](const Args& a, Sides& met) { met.holds(a.shape.corrected != 0); });

}  // namespace
}  // namespace klab
