// Where activation_bwd turns: the slope of relu at its kink, which is 0 there.
#include "reference/boundaries.h"
#include "reference/activation_bwd/activation_bwd.h"

namespace klab {

const Boundary<ActivationBwd> kKink("slope of relu", {"x", "d_y", "kind"}, {}, kThreeSides,
                                    [](const auto& a, Sides& met) {
                                      for (int64_t i = 0; a.shape.kind == activation::relu && i < a.shape.n;
                                           ++i)
                                        if (a.d_y[i] != 0) met.compare(a.x[i], 0);
                                    });

}  // namespace klab
