// |o| of each ray's opacity: a scene has no more matter than the pictures ask for. Opacities are never negative, so each is its own
// value, and its gradient is the weight of the ray.
#include "labs/radiance/loss/terms.h"

namespace klab {

constinit const Term terms::opacity_l1 = {
    .name = "opacity_l1",
    .unit = "1",
    .weight_of = "weight of rays as transparent as the pictures allow",
    .help = "rays as transparent as the pictures allow",
    .when_to_try = "a haze fills empty space",
    .where = Term::on_rays,
    .needs = Term::opacity,
    .add =
        [](Ops& ops, const TermTensors& x) {
          x.copy(ops, x.weight, x.d_opacity);
          x.add_to_loss(ops, x.opacity);
        },
};

}  // namespace klab
