// Where sample_weights_fwd turns: rays without samples, and rays that become opaque.
#include "reference/composite_fwd/boundaries.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"

namespace klab {

const RaySpans<SampleWeightsFwd> kSpans;
const OpaqueRays<SampleWeightsFwd> kOpaque;

}  // namespace klab
