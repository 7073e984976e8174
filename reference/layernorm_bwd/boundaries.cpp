// Where layernorm_bwd turns: rows of one value.
#include "reference/boundaries.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

namespace klab {

const Boundary<LayernormBwd> kOne("values of a row", {"c"}, {}, kOn | kAbove,
                                  [](const auto& a, Sides& met) { met.compare(a.shape.c, 1); });

}  // namespace klab
