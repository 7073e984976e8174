// Where sh_bwd turns: directions along an axis, one band only.
#include "reference/boundaries.h"
#include "reference/sh_bwd/sh_bwd.h"

namespace klab {

const Boundary<ShBwd> kAxis("coordinate of a direction", {"directions"}, {}, kThreeSides,
                            [](const auto& a, Sides& met) {
                              for (int64_t i = 0; i < 3 * a.shape.n; ++i) met.compare(a.directions[i], 0);
                            });
const Boundary<ShBwd> kConstant("degree", {"degree"}, {"term.output >= degree * degree"}, kOn | kAbove,
                                [](const auto& a, Sides& met) { met.compare(a.shape.degree, 1); });
const NoBoundary<ShBwd> kRest({{"power[axis] == 0", "derivative of a monomial, the same in all cases"}});

}  // namespace klab
