// Boundaries of ops that go along rays, for their boundaries.cpp: RaySpans, OpaqueRays and SlopeClamp state them.
#pragma once

#include <cmath>
#include <string>

#include "reference/boundaries.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_fwd/ray.h"

namespace klab {

/// Rays without samples, and intervals without length.
template <class Contract>
struct RaySpans {
  using Args = typename Contract::template Args<double>;
  RaySpans() {
    Boundary<Contract>("ray without samples", {"ray_begin"}, {}, kEither, [](const Args& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r) met.holds(a.ray_begin[r] == a.ray_begin[r + 1]);
    });
    Boundary<Contract>("length of an interval", {"delta"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.samples; ++i) met.compare(a.delta[i], 0);
    });
  }
};

/// Rays that become opaque, by many samples and by one alone.
template <class Contract>
struct OpaqueRays {
  using Args = typename Contract::template Args<double>;
  using Drawn = typename Contract::template Args<float>;
  OpaqueRays() {
    Boundary<Contract>("transmittance behind a sample and the stop", {"density_raw", "delta"}, {},
                       kBelow | kAbove, [](const Args& a, Sides& met) {
                         each_ray(a, [&](const TracedRay& ray) {
                           for (const double T : ray.T) met.compare(T, CompositeFwd::stop);
                         });
                       });
    Boundary<Contract>(
        "one sample alone makes its ray opaque", {"density_raw", "delta"}, {}, kEither,
        [](const Args& a, Sides& met) {
          each_ray(a, [&](const TracedRay& ray) {
            for (size_t i = 0; i + 1 < ray.T.size(); ++i)
              met.holds(ray.T[i] > 0.5 && ray.T[i + 1] < CompositeFwd::stop);
          });
        },
        [](const Drawn& x, Generator& random) {
          for (int64_t i = 0; i < x.shape.samples; ++i)
            if (random() % 16 == 0 && x.density_raw[i] > -1.5F)
              drawn(x.delta[i]) = 20 * std::exp(-x.density_raw[i]);
        });
  }

 private:
  static void each_ray(const Args& a, auto&& visit) {
    for (int64_t r = 0; r < a.shape.rays; ++r) {
      const int64_t first = a.ray_begin[r];
      visit(trace(a.density_raw + first, a.delta + first, a.ray_begin[r + 1] - first));
    }
  }
};

/// Densities whose slope is clamped. `code` is the reference's comparison; `plant` moves densities there.
template <class Contract>
struct SlopeClamp {
  using Args = typename Contract::template Args<double>;
  explicit SlopeClamp(const std::string& code, typename Boundary<Contract>::Plant plant = nullptr) {
    Boundary<Contract>(
        "upper clamp of the slope", {"density_raw", "delta"}, {code}, kThreeSides,
        [](const Args& a, Sides& met) { compare(a, 15, met); }, plant);
    Boundary<Contract>("lower clamp of the slope", {"density_raw", "delta"}, {}, kThreeSides,
                       [](const Args& a, Sides& met) { compare(a, -15, met); });
  }

 private:
  static void compare(const Args& a, double point, Sides& met) {
    for (int64_t i = 0; i < a.shape.samples; ++i)
      if (a.delta[i] > 0) met.compare(a.density_raw[i], point);
  }
};

}  // namespace klab
