// Where composite_fwd turns: rays without samples, and rays that become opaque.
#include "reference/composite_fwd/boundaries.h"

namespace klab {

const RaySpans<CompositeFwd> kSpans;
const OpaqueRays<CompositeFwd> kOpaque;

const NoBoundary<CompositeFwd> kRest(
    {{"i >= b.stopped", "a bound of rounding errors, which no kernel computes"},
     {"T > 0 ?", "a bound of rounding errors, which no kernel computes"},
     {"std::max(brightest, std::abs", "a bound of rounding errors, which no kernel computes"},
     {"std::max(farthest, std::abs", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
