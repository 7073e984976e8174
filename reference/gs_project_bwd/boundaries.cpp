// Where gs_project_bwd turns: the near plane, and the border of the picture.
#include "reference/boundaries.h"
#include "reference/gs_project_bwd/gs_project_bwd.h"
#include "reference/gs_project_fwd/projection.h"

namespace klab {
namespace {

using Args = GsProjectBwd::Args<double>;

void each_projection(const Args& a, auto&& visit) {
  for (int64_t i = 0; i < a.shape.n; ++i)
    visit(i, project(a.shape, a.camera, a.position, a.log_scale, a.quaternion, i));
}

const Boundary<GsProjectBwd> kNear("depth and the near plane", {"position", "camera"}, {}, kBelow | kAbove,
                                   [](const auto& a, Sides& met) {
                                     each_projection(a, [&](int64_t, const Projection& g) {
                                       met.compare(g.z.value, a.camera[GsProjectFwd::near]);
                                     });
                                   });
const Boundary<GsProjectBwd> kAcross("column is held at the border", {"position", "camera", "width"}, {},
                                     kEither, [](const auto& a, Sides& met) {
                                       each_projection(a, [&](int64_t, const Projection& g) {
                                         if (!g.culled) met.holds(g.u_is_held);
                                       });
                                     });
const Boundary<GsProjectBwd> kDown("row is held at the border", {"position", "camera", "height"}, {}, kEither,
                                   [](const auto& a, Sides& met) {
                                     each_projection(a, [&](int64_t, const Projection& g) {
                                       if (!g.culled) met.holds(g.v_is_held);
                                     });
                                   });
const Boundary<GsProjectBwd> kSide("side at which a column is held", {"position", "camera", "width"}, {},
                                   kBelow | kAbove, [](const auto& a, Sides& met) {
                                     each_projection(a, [&](int64_t, const Projection& g) {
                                       if (!g.culled && g.u_is_held) met.compare(g.u.value, 0);
                                     });
                                   });

}  // namespace
}  // namespace klab
