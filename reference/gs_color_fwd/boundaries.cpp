// Where gs_color_fwd turns: sums that are cut at zero.
#include "reference/boundaries.h"
#include "reference/gs_color_fwd/gs_color_fwd.h"
#include "reference/gs_color_fwd/shade.h"

namespace klab {

const Boundary<GsColorFwd> kCut("sum before it is cut", {"coefficients", "eye", "position"},
                                {"std::max(0.0, s.sum"}, kBelow | kAbove, [](const auto& a, Sides& met) {
                                  for (int64_t i = 0; i < a.shape.n; ++i)
                                    for (const RunningError& sum :
                                         shade(a.shape, a.eye, a.position, a.coefficients, i).sum)
                                      met.compare(sum.value, 0);
                                });
const Boundary<GsColorFwd> kConstant("degree", {"degree"}, {"t.output >= s.functions()"}, kOn | kAbove,
                                     [](const auto& a, Sides& met) { met.compare(a.shape.degree, 0); });
const NoBoundary<GsColorFwd> kRest({{"int(k) == axis ?", "derivative of a monomial, the same in all cases"},
                                    {"value(-1)", "names the monomial itself"},
                                    {"> 0) out.slope", "derivative of a monomial, the same in all cases"}});

}  // namespace klab
