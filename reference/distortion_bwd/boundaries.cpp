// Where distortion_bwd turns: samples at one distance.
#include "reference/composite_fwd/boundaries.h"
#include "reference/distortion_bwd/distortion_bwd.h"

namespace klab {

const Boundary<DistortionBwd> kEqual("two samples at one distance", {"t"}, {}, kEither,
                                     [](const auto& a, Sides& met) {
                                       for (int64_t r = 0; r < a.shape.rays; ++r)
                                         for (int64_t i = a.ray_begin[r] + 1; i < a.ray_begin[r + 1]; ++i)
                                           met.holds(a.t[i] == a.t[i - 1]);
                                     });

const RaySpans<DistortionBwd> kSpans;

}  // namespace klab
