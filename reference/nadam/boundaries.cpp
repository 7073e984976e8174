// Where nadam turns: the first step, tensors without decay or parameters.
#include "reference/nadam/nadam.h"
#include "reference/sgd/optimizer_boundaries.h"

namespace klab {

const optimizer::FamilyBoundaries<Nadam> kFamily;
const optimizer::FirstStep<Nadam> kFirst;

}  // namespace klab
