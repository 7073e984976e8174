// |expected distance - true distance| of rays whose true distance is known. A wrong one pulls no harder than a right one, where its
// square would (Zhu et al., "NICE-SLAM", 2022).
#include "labs/radiance/loss/terms.h"
#include "reference/depth_l1_bwd/depth_l1_bwd.h"
#include "reference/depth_l1_fwd/depth_l1_fwd.h"

namespace klab {

constinit const Term terms::depth_l1 = {
    .name = "depth_l1",
    .unit = "length",
    .weight_of = "weight of expected distances as measured, which a few wrong ones do not outweigh",
    .help = "expected distance as measured, a few of them wrong",
    .when_to_try = "the scene brings depth with outliers: points of COLMAP, edges of depth maps",
    .where = Term::on_rays,
    .needs = Term::depth | Term::true_depth,
    .ops = {DepthL1Fwd::name, DepthL1Bwd::name},
    .add =
        [](Ops& ops, const TermTensors& x) {
          ops.call<DepthL1Fwd>({.rays = x.rays}, {.depth = x.depth, .truth = x.true_depth, .loss = x.value});
          ops.call<DepthL1Bwd>(
              {.rays = x.rays},
              {.depth = x.depth, .truth = x.true_depth, .d_loss = x.weight, .d_depth = x.d_depth});
          x.add_to_loss(ops, x.value);
        },
};

}  // namespace klab
