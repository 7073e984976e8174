// Where layernorm_residual_fwd turns: rows of one value.
#include "reference/boundaries.h"
#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"

namespace klab {

const Boundary<LayernormResidualFwd> kOne("values of a row", {"c"}, {}, kOn | kAbove,
                                          [](const auto& a, Sides& met) { met.compare(a.shape.c, 1); });
const NoBoundary<LayernormResidualFwd> kRest({{"got == want || (std::isnan(got) && std::isnan(want))",
                                               "a relation between outputs"}});

}  // namespace klab
