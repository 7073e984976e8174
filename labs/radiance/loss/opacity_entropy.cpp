// -o·ln o of each ray's opacity: rays are to be full or empty (ngp_pl, with a weight of 1e-3).
#include "labs/radiance/loss/terms.h"
#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"

namespace klab {

constinit const Term terms::opacity_entropy = {
    .name = "opacity_entropy",
    .unit = "nats",
    .weight_of = "weight of rays that are opaque or empty, nothing between",
    .help = "rays that are opaque or empty, nothing between",
    .when_to_try = "objects on a plain background have halos",
    .where = Term::on_rays,
    .needs = Term::opacity,
    .ops = {OpacityEntropyFwd::name, OpacityEntropyBwd::name},
    .add =
        [](Ops& ops, const TermTensors& x) {
          ops.call<OpacityEntropyFwd>({.rays = x.rays}, {.opacity = x.opacity, .loss = x.value});
          ops.call<OpacityEntropyBwd>({.rays = x.rays},
                                      {.opacity = x.opacity, .d_loss = x.weight, .d_opacity = x.d_opacity});
          x.add_to_loss(ops, x.value);
        },
};

}  // namespace klab
