// Where sh_fwd turns: directions along an axis, one band only.
#include "reference/boundaries.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {

const Boundary<ShFwd> kAxis("coordinate of a direction", {"directions"}, {}, kThreeSides,
                            [](const auto& a, Sides& met) {
                              for (int64_t i = 0; i < 3 * a.shape.n; ++i) met.compare(a.directions[i], 0);
                            });
const Boundary<ShFwd> kConstant("degree", {"degree"}, {"term.output >= degree * degree"}, kOn | kAbove,
                                [](const auto& a, Sides& met) { met.compare(a.shape.degree, 1); });

}  // namespace klab
