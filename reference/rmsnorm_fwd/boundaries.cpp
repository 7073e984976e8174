// Where rmsnorm_fwd turns: rows of one value.
#include "reference/boundaries.h"
#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

namespace klab {

const Boundary<RmsnormFwd> kOne("values of a row", {"c"}, {}, kOn | kAbove,
                                [](const auto& a, Sides& met) { met.compare(a.shape.c, 1); });

}  // namespace klab
