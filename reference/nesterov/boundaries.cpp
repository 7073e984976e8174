// Where nesterov turns: tensors without decay or parameters.
#include "reference/nesterov/nesterov.h"
#include "reference/sgd/optimizer_boundaries.h"

namespace klab {

const optimizer::FamilyBoundaries<Nesterov> kFamily;

}  // namespace klab
