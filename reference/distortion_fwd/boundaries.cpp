// Where distortion_fwd turns: samples at one distance.
#include "reference/composite_fwd/boundaries.h"
#include "reference/distortion_fwd/distortion_fwd.h"

namespace klab {

const Boundary<DistortionFwd> kEqual("two samples at one distance", {"t"}, {}, kEither,
                                     [](const auto& a, Sides& met) {
                                       for (int64_t r = 0; r < a.shape.rays; ++r)
                                         for (int64_t i = a.ray_begin[r] + 1; i < a.ray_begin[r + 1]; ++i)
                                           met.holds(a.t[i] == a.t[i - 1]);
                                     });

const RaySpans<DistortionFwd> kSpans;

}  // namespace klab
