// Where ema turns: nothing is kept.
#include "reference/boundaries.h"
#include "reference/ema/ema.h"

namespace klab {

const Boundary<Ema> kKept("share that is kept", {"keep"}, {}, kOn | kAbove,
                          [](const auto& a, Sides& met) { met.compare(*a.keep, 0); });

}  // namespace klab
