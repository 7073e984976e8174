// Where nesterov turns: tensors without decay or parameters.
#include "reference/nesterov/nesterov.h"
#include "reference/sgd/optimizer_boundaries.h"

namespace klab {
namespace {

const optimizer::FamilyBoundaries<Nesterov> kFamily;

}  // namespace
}  // namespace klab
