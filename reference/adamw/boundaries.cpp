// Where adamw turns: the first step, tensors without decay or parameters.
#include "reference/adamw/adamw.h"
#include "reference/sgd/optimizer_boundaries.h"

namespace klab {

const optimizer::FamilyBoundaries<Adamw> kFamily;
const optimizer::FirstStep<Adamw> kFirst;

}  // namespace klab
