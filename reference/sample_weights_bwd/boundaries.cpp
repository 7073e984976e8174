// Where sample_weights_bwd turns: rays that become opaque, and the clamp of the slope.
#include <algorithm>
#include <cmath>

#include "reference/composite_fwd/boundaries.h"
#include "reference/sample_weights_bwd/sample_weights_bwd.h"

namespace klab {

const RaySpans<SampleWeightsBwd> kSpans;
const OpaqueRays<SampleWeightsBwd> kOpaque;
const SlopeClamp<SampleWeightsBwd> kSlope("std::clamp(raw, -15.0, 15.0)", [](const auto& x,
                                                                             Generator& random) {
  for (int64_t i = 0; i < x.shape.samples; ++i) {
    if (random() % 4 != 0) continue;
    drawn(x.density_raw[i]) = random() % 2 ? 15.0F : -15.0F;
    drawn(x.delta[i]) = std::min(std::max(x.delta[i], 0.01F), std::exp(-x.density_raw[i]));
  }
});

}  // namespace klab
