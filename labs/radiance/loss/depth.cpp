// (expected distance - true distance)² / 2 of rays whose true distance is known (Deng et al., "Depth-supervised NeRF", 2022).
#include "labs/radiance/loss/terms.h"
#include "reference/depth_loss_bwd/depth_loss_bwd.h"
#include "reference/depth_loss_fwd/depth_loss_fwd.h"

namespace klab {

constinit const Term terms::depth = {
    .name = "depth",
    .unit = "length²",
    .weight_of = "weight of expected distances as measured",
    .high = 1e3,
    .help = "expected distance as measured",
    .when_to_try = "the scene brings depth: the built-in one, depth maps, points of COLMAP",
    .where = Term::on_rays,
    .needs = Term::depth | Term::true_depth,
    .ops = {DepthLossFwd::name, DepthLossBwd::name},
    .add =
        [](Ops& ops, const TermTensors& x) {
          ops.call<DepthLossFwd>({.rays = x.rays},
                                 {.depth = x.depth, .truth = x.true_depth, .loss = x.value});
          ops.call<DepthLossBwd>(
              {.rays = x.rays},
              {.depth = x.depth, .truth = x.true_depth, .d_loss = x.weight, .d_depth = x.d_depth});
          x.add_to_loss(ops, x.value);
        },
};

}  // namespace klab
