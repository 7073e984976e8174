// Where ray_march turns: rays that miss the box, cascades, rays that no longer fit.
#include <algorithm>
#include <cmath>

#include "reference/boundaries.h"
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

using Args = RayMarch::Args<double>;

void each_ray(const Args& a, auto&& visit) {
  const float side = float(1 << (a.shape.cascades - 1));
  for (int64_t r = 0; r < a.shape.rays; ++r) {
    float o[3], d[3];
    for (int64_t axis = 0; axis < 3; ++axis) {
      o[axis] = float(a.origins[axis * a.shape.rays + r]);
      d[axis] = float(a.directions[axis * a.shape.rays + r]);
    }
    visit(r, RayMarch::box_span(o, d, float(a.steps[0]), float(a.steps[4]), side), o, d);
  }
}

const Boundary<RayMarch> kHit("entry and exit of the box", {"origins", "directions"},
                              {"span.enter < span.leave"}, kBelow | kAbove, [](const auto& a, Sides& met) {
                                each_ray(a, [&](int64_t, RayMarch::Span span, const float*, const float*) {
                                  met.compare(span.enter, span.leave);
                                });
                              });
const Boundary<RayMarch> kNear("entry and the nearest distance", {"origins", "steps"},
                               {"std::max(enter, std::min(a, b))"}, kOn | kAbove,
                               [](const auto& a, Sides& met) {
                                 each_ray(a, [&](int64_t, RayMarch::Span span, const float*, const float*) {
                                   met.compare(span.enter, float(a.steps[0]));
                                 });
                               });
const Boundary<RayMarch> kFar("exit and the farthest distance", {"origins", "steps"},
                              {"std::min(leave, std::max(a, b))"}, kBelow | kOn,
                              [](const auto& a, Sides& met) {
                                each_ray(a, [&](int64_t, RayMarch::Span span, const float*, const float*) {
                                  if (span.enter < span.leave) met.compare(span.leave, float(a.steps[4]));
                                });
                              });
const Boundary<RayMarch> kTiny("direction along an axis and the least one", {"directions"},
                               {"std::abs(d) < 1e-9F"}, kBelow | kAbove, [](const auto& a, Sides& met) {
                                 for (int64_t i = 0; i < 3 * a.shape.rays; ++i)
                                   met.compare(std::abs(float(a.directions[i])), 1e-9F);
                               });
const Boundary<RayMarch> kMinusZero("-0 as a direction", {"directions"}, {}, kEither,
                                    [](const auto& a, Sides& met) {
                                      for (int64_t i = 0; i < 3 * a.shape.rays; ++i)
                                        if (a.directions[i] == 0) met.holds(std::signbit(a.directions[i]));
                                    });
const Boundary<RayMarch> kCone("steps are even", {"steps"}, {"steps[3] == 0 ?"}, kEither,
                               [](const auto& a, Sides& met) { met.holds(a.steps[3] == 0); });
const Boundary<RayMarch> kStep("step and the least one", {"steps", "origins"},
                               {"std::max(t * steps[3], steps[1])"}, kBelow | kAbove,
                               [](const auto& a, Sides& met) {
                                 each_ray(a, [&](int64_t, RayMarch::Span span, const float*, const float*) {
                                   if (span.enter < span.leave && a.steps[3] != 0)
                                     for (const float t : {span.enter, span.leave})
                                       met.compare(t * float(a.steps[3]), float(a.steps[1]));
                                 });
                               });
const Boundary<RayMarch> kLongest("step and the largest one", {"steps", "origins"}, {"std::min(std::max(t"},
                                  kBelow | kAbove, [](const auto& a, Sides& met) {
                                    each_ray(a,
                                             [&](int64_t, RayMarch::Span span, const float*, const float*) {
                                               if (span.enter < span.leave && a.steps[3] != 0)
                                                 for (const float t : {span.enter, span.leave})
                                                   met.compare(t * float(a.steps[3]), float(a.steps[2]));
                                             });
                                  });
const Boundary<RayMarch> kCascade("distance from the middle and the first cascade", {"origins", "cascades"},
                                  {}, kEither, [](const auto& a, Sides& met) {
                                    each_ray(
                                        a, [&](int64_t, RayMarch::Span span, const float* o, const float* d) {
                                          if (!(span.enter < span.leave) || a.shape.cascades < 2) return;
                                          const float t = (span.enter + span.leave) / 2;
                                          const float away = std::max({std::abs(o[0] + t * d[0] - 0.5F),
                                                                       std::abs(o[1] + t * d[1] - 0.5F),
                                                                       std::abs(o[2] + t * d[2] - 0.5F)});
                                          met.holds(RayMarch::cascade_of(away, a.shape.cascades) == 0);
                                        });
                                  });
const Boundary<RayMarch> kInside("ray begins inside the box", {"origins"}, {}, kEither,
                                 [](const auto& a, Sides& met) {
                                   each_ray(a, [&](int64_t, RayMarch::Span span, const float*, const float*) {
                                     if (span.enter < span.leave) met.holds(span.enter == float(a.steps[0]));
                                   });
                                 });
const ResultBoundary<RayMarch> kFits("last ray with samples ends where the room ends", {"capacity"},
                                     {"> s.capacity"}, kBelow | kOn, [](const auto& a, Sides& met) {
                                       if (a.shape.rays > 0)
                                         met.compare(int64_t{a.ray_begin[a.shape.rays]}, a.shape.capacity);
                                     });
const Boundary<RayMarch> kStart("place in the first step", {"jitter"}, {}, kOn | kAbove,
                                [](const auto& a, Sides& met) {
                                  for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.jitter[r], 0);
                                });
const NoBoundary<RayMarch> kRest({{"std::max({std::abs",
                                   "largest of three coordinates, whose order changes along every ray"},
                                  {"index % 8", "an index: sizes draw every remainder"},
                                  {"std::clamp(cell, 0, int32_t(grid) - 1)",
                                   "samples at the walls, which rays that enter and leave the box have"}});

}  // namespace
}  // namespace klab
