// Where gs_color_bwd turns: sums that are cut at zero have no gradient.
#include "reference/boundaries.h"
#include "reference/gs_color_bwd/gs_color_bwd.h"
#include "reference/gs_color_fwd/shade.h"

namespace klab {

const Boundary<GsColorBwd> kCut("sum before it is cut", {"coefficients", "eye", "position", "d_color"},
                                {".value > 0 ?"}, kBelow | kAbove, [](const auto& a, Sides& met) {
                                  for (int64_t i = 0; i < a.shape.n; ++i) {
                                    const Shade s = shade(a.shape, a.eye, a.position, a.coefficients, i);
                                    for (int64_t c = 0; c < 3; ++c)
                                      if (a.d_color[c * a.shape.n + i] != 0)
                                        met.compare(s.sum[size_t(c)].value, 0);
                                  }
                                });
const Boundary<GsColorBwd> kConstant("degree", {"degree"}, {}, kOn | kAbove,
                                     [](const auto& a, Sides& met) { met.compare(a.shape.degree, 0); });

}  // namespace klab
