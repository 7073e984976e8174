// Where activation_fwd turns: the kink of relu.
#include "reference/boundaries.h"
#include "reference/activation_fwd/activation_fwd.h"

namespace klab {

const Boundary<ActivationFwd> kKink("kink of relu", {"x", "kind"}, {"x > 0 ?"}, kThreeSides,
                                    [](const auto& a, Sides& met) {
                                      for (int64_t i = 0; a.shape.kind == activation::relu && i < a.shape.n;
                                           ++i)
                                        met.compare(a.x[i], 0);
                                    });
const NoBoundary<ActivationFwd> kRest({{"size > 0 ?", "a bound of rounding errors, which no kernel computes"},
                                       {"kind == sigmoid || kind == tanh || kind == swish",
                                        "prices the functions"}});

}  // namespace klab
