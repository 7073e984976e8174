// Where gs_project_fwd turns: the near plane, the border of the picture, Gaussians too faint to draw.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"
#include "reference/gs_project_fwd/projection.h"

namespace klab {
namespace {

using Args = GsProjectFwd::Args<double>;

void each_projection(const Args& a, auto&& visit) {
  for (int64_t i = 0; i < a.shape.n; ++i)
    visit(i, project(a.shape, a.camera, a.position, a.log_scale, a.quaternion, i));
}

/// Turns scene and camera so that the camera looks along z from the origin: no rounding lies between a position and its depth.
void look_along_z(const GsProjectFwd::Args<float>& x) {
  using C = GsProjectFwd::Camera;
  const int64_t n = x.shape.n;
  for (int64_t i = 0; i < n; ++i) {
    double seen[3];
    for (int r = 0; r < 3; ++r) {
      seen[r] = x.camera[C::translation + r];
      for (int64_t k = 0; k < 3; ++k)
        seen[r] += double(x.camera[C::rotation + 3 * r + int(k)]) * x.position[k * n + i];
    }
    for (int64_t k = 0; k < 3; ++k) drawn(x.position[k * n + i]) = float(seen[k]);
  }
  for (int k = 0; k < 9; ++k) drawn(x.camera[C::rotation + k]) = k % 4 == 0 ? 1 : 0;
  for (int r = 0; r < 3; ++r) drawn(x.camera[C::translation + r]) = 0;
}

const Boundary<GsProjectFwd> kNear(
    "depth and the near plane", {"position", "camera"}, {"> camera[C::near]"}, kThreeSides,
    [](const auto& a, Sides& met) {
      each_projection(
          a, [&](int64_t, const Projection& g) { met.compare(g.z.value, a.camera[GsProjectFwd::near]); });
    },
    [](const auto& x, Generator& random) {
      look_along_z(x);
      for (int64_t i = 0; i < x.shape.n; ++i)
        if (random() % 4 == 0) drawn(x.position[2 * x.shape.n + i]) = x.camera[GsProjectFwd::near];
    });
const Boundary<GsProjectFwd> kAcross("column is held at the border", {"position", "camera", "width"},
                                     {"std::abs(value.value) > most.value"}, kEither,
                                     [](const auto& a, Sides& met) {
                                       each_projection(a, [&](int64_t, const Projection& g) {
                                         if (!g.culled) met.holds(g.u_is_held);
                                       });
                                     });
const Boundary<GsProjectFwd> kDown("row is held at the border", {"position", "camera", "height"}, {}, kEither,
                                   [](const auto& a, Sides& met) {
                                     each_projection(a, [&](int64_t, const Projection& g) {
                                       if (!g.culled) met.holds(g.v_is_held);
                                     });
                                   });
const Boundary<GsProjectFwd> kSide("side at which a column is held", {"position", "camera", "width"},
                                   {"value.value > 0 ?"}, kBelow | kAbove, [](const auto& a, Sides& met) {
                                     each_projection(a, [&](int64_t, const Projection& g) {
                                       if (!g.culled && g.u_is_held) met.compare(g.u.value, 0);
                                     });
                                   });

const Boundary<GsProjectFwd> kFaint("opacity and the least that is drawn", {"opacity_raw", "tight"},
                                    {"opacity.value * levels > 1"}, kBelow | kAbove,
                                    [](const auto& a, Sides& met) {
                                      for (int64_t i = 0; a.shape.tight == 1 && i < a.shape.n; ++i)
                                        met.compare(GsProjectFwd::levels / (1 + std::exp(-a.opacity_raw[i])),
                                                    1);
                                    });
const Boundary<GsProjectFwd> kTight("boxes follow opacity", {"tight"}, {"x.shape.tight == 0"}, kEither,
                                    [](const auto& a, Sides& met) { met.holds(a.shape.tight != 0); });
const NoBoundary<GsProjectFwd> kRest({{"k % 3", "an index: sizes draw every remainder"},
                                      {"< 0.01) return true", "draws Gaussians away from borders"},
                                      {"seen[2] < camera[C::near]", "draws Gaussians away from borders"},
                                      {" < 0.01;", "draws Gaussians away from borders"}});

}  // namespace
}  // namespace klab
