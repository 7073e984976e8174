// Where composite_bwd turns: rays that become opaque, and the clamp of the slope.
#include "reference/composite_fwd/boundaries.h"
#include "reference/composite_bwd/composite_bwd.h"

namespace klab {

const RaySpans<CompositeBwd> kSpans;
const OpaqueRays<CompositeBwd> kOpaque;
const SlopeClamp<CompositeBwd> kSlope("std::clamp(raw, -15.0, 15.0)");

const NoBoundary<CompositeBwd> kRest(
    {{"i >= b.stopped", "a bound of rounding errors, which no kernel computes"},
     {"std::max(largest, payload", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
