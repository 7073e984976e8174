// Where layernorm_fwd turns: rows of one value.
#include "reference/boundaries.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {

const Boundary<LayernormFwd> kOne("values of a row", {"c"}, {}, kOn | kAbove,
                                  [](const auto& a, Sides& met) { met.compare(a.shape.c, 1); });

}  // namespace klab
