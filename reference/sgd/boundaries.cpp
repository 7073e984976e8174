// Where sgd turns: tensors without decay or parameters.
#include "reference/sgd/optimizer_boundaries.h"
#include "reference/sgd/sgd.h"

namespace klab {

const optimizer::FamilyBoundaries<Sgd> kFamily({"t >= tensors ?"});
const NoBoundary<Sgd> kRest({{"v > 0 ?", "a bound of rounding errors, which no kernel computes"},
                             {"underflow < 1 ?", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
