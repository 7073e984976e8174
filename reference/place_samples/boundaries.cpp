// Where place_samples turns: samples that were not marched, positions outside the volume.
#include "reference/boundaries.h"
#include "reference/place_samples/place_samples.h"

namespace klab {
namespace {

using Args = PlaceSamples::Args<double>;

const Boundary<PlaceSamples> kMarched("sample of the pass and the last one marched", {"begin", "ray_begin"},
                                      {"from >= x.ray_begin[r + 1]"}, kThreeSides,
                                      [](const auto& a, Sides& met) {
                                        for (int64_t r = 0; r < a.shape.rays; ++r)
                                          for (int64_t i = a.begin[r]; i < a.begin[r + 1]; ++i)
                                            met.compare(a.ray_begin[r] + a.shape.first + i - a.begin[r],
                                                        int64_t{a.ray_begin[r + 1]});
                                      });
const Boundary<PlaceSamples> kEmpty("ray without samples", {"begin"}, {}, kEither,
                                    [](const auto& a, Sides& met) {
                                      for (int64_t r = 0; r < a.shape.rays; ++r)
                                        met.holds(a.begin[r] == a.begin[r + 1]);
                                    });
const Boundary<PlaceSamples> kOwnerless("samples without a ray", {"begin", "samples"}, {}, kEither,
                                        [](const auto& a, Sides& met) {
                                          met.holds(a.begin[a.shape.rays] < a.shape.samples);
                                        });

void each_place(const Args& a, auto&& visit) {
  for (int64_t r = 0; r < a.shape.rays; ++r)
    for (int64_t i = a.begin[r]; i < a.begin[r + 1]; ++i)
      if (const int64_t from = a.ray_begin[r] + a.shape.first + i - a.begin[r]; from < a.ray_begin[r + 1])
        for (int64_t axis = 0; axis < 3; ++axis)
          visit(0.5 + (a.origins[axis * a.shape.rays + r] +
                       a.t[from] * a.directions[axis * a.shape.rays + r] - 0.5) /
                          a.volume[0]);
}

const Boundary<PlaceSamples> kLower(
    "position and the near wall", {"t", "origins", "directions", "volume"}, {"std::clamp(0.5 + from_middle"},
    kBelow | kAbove,
    [](const auto& a, Sides& met) {
      if (a.volume[1] == 0) each_place(a, [&](double at) { met.compare(at, 0); });
    },
    [](const auto& x, Generator& random) {
      drawn(x.volume[0]) = 1;
      drawn(x.volume[1]) = 0;
      for (int64_t i = 0; i < 3 * x.shape.rays; ++i)
        if (random() % 2) drawn(x.directions[i]) = -1;
    });
const Boundary<PlaceSamples> kUpper("position and the far wall", {"t", "origins", "directions", "volume"}, {},
                                    kBelow | kAbove, [](const auto& a, Sides& met) {
                                      if (a.volume[1] == 0)
                                        each_place(a, [&](double at) { met.compare(at, 1); });
                                    });
const Boundary<PlaceSamples> kGraded("cells grow", {"volume"}, {"x.volume[1] != 0"}, kEither,
                                     [](const auto& a, Sides& met) { met.holds(a.volume[1] != 0); });

}  // namespace
}  // namespace klab
