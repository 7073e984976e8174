// Where spread_samples turns: samples that were not marched.
#include "reference/boundaries.h"
#include "reference/spread_samples/spread_samples.h"

namespace klab {

const Boundary<SpreadSamples> kMarched("sample of the pass and the last one marched", {"begin", "ray_begin"},
                                       {"from >= x.ray_begin[r + 1]"}, kThreeSides,
                                       [](const auto& a, Sides& met) {
                                         for (int64_t r = 0; r < a.shape.rays; ++r)
                                           for (int64_t i = a.begin[r]; i < a.begin[r + 1]; ++i)
                                             met.compare(a.ray_begin[r] + i - a.begin[r],
                                                         int64_t{a.ray_begin[r + 1]});
                                       });
const Boundary<SpreadSamples> kEmpty("ray without samples", {"begin"}, {}, kEither,
                                     [](const auto& a, Sides& met) {
                                       for (int64_t r = 0; r < a.shape.rays; ++r)
                                         met.holds(a.begin[r] == a.begin[r + 1]);
                                     });
const Boundary<SpreadSamples> kOwnerless("samples without a ray", {"begin", "samples"}, {}, kEither,
                                         [](const auto& a, Sides& met) {
                                           met.holds(a.begin[a.shape.rays] < a.shape.samples);
                                         });
const NoBoundary<SpreadSamples> kRest({{"i >= 2 * s.samples", "the direction of samples without a ray"}});

}  // namespace klab
