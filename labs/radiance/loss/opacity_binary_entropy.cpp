// -(o·ln o + (1 - o)·ln(1 - o)) of each ray's opacity: as far from full as from empty, it pushes as hard to either (Sun et al., "Direct
// Voxel Grid Optimization", 2022, with weights of 1e-3 and 1e-2).
#include "labs/radiance/loss/terms.h"
#include "reference/opacity_binary_entropy_bwd/opacity_binary_entropy_bwd.h"
#include "reference/opacity_binary_entropy_fwd/opacity_binary_entropy_fwd.h"

namespace klab {

constinit const Term terms::opacity_binary_entropy = {
    .name = "opacity_binary_entropy",
    .unit = "nats",
    .weight_of = "weight of rays that are opaque or empty, whichever is nearer",
    .help = "rays that are opaque or empty, whichever is nearer",
    .when_to_try = "a mask divides object and background, and edges are grey",
    .where = Term::on_rays,
    .needs = Term::opacity,
    .ops = {OpacityBinaryEntropyFwd::name, OpacityBinaryEntropyBwd::name},
    .add =
        [](Ops& ops, const TermTensors& x) {
          ops.call<OpacityBinaryEntropyFwd>({.rays = x.rays}, {.opacity = x.opacity, .loss = x.value});
          ops.call<OpacityBinaryEntropyBwd>(
              {.rays = x.rays}, {.opacity = x.opacity, .d_loss = x.weight, .d_opacity = x.d_opacity});
          x.add_to_loss(ops, x.value);
        },
};

}  // namespace klab
