// Where momentum turns: the first step, averages that are corrected, tensors without decay or parameters.
#include "reference/momentum/momentum.h"
#include "reference/sgd/optimizer_boundaries.h"

namespace klab {

const optimizer::FamilyBoundaries<Momentum> kFamily;
const optimizer::FirstStep<Momentum> kFirst;
const Boundary<Momentum> kCorrected("average is corrected", {"corrected", "steps"},
                                    {"x.shape.corrected != 0"}, kEither,
                                    [](const auto& a, Sides& met) { met.holds(a.shape.corrected != 0); });

}  // namespace klab
