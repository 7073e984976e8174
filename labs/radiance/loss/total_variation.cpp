// Sum over 3 axes of (raw(x + h·axis) - raw(x))² at random points, with raw the log-density and h the edge of a cell of the grid
// (Yu et al., "Plenoxels", 2022, section 3.3, has the same sum over a voxel grid's neighbors).
#include "labs/radiance/loss/terms.h"
#include "reference/total_variation_bwd/total_variation_bwd.h"
#include "reference/total_variation_fwd/total_variation_fwd.h"
#include "reference/variation_points/variation_points.h"

namespace klab {

constinit const Term terms::total_variation = {
    .name = "total_variation",
    .unit = "1",
    .weight_of = "weight of neighboring densities alike",
    .help = "neighboring densities alike",
    .when_to_try = "few views; noise in the depth",
    .where = Term::on_own_points,
    .needs = Term::densities,
    .stage = "total variation",
    .ops = {VariationPoints::name, TotalVariationFwd::name, TotalVariationBwd::name},
    .add =
        [](Ops& ops, const TermTensors& x) {
          const int64_t points = x.values;
          ops.call<VariationPoints>({.points = points},
                                    {.seed = x.seed, .step = x.step, .h = x.cell, .positions = x.positions});
          x.forward();
          ops.call<TotalVariationFwd>({.points = points}, {.raw = x.point_raw, .loss = x.value});
          ops.call<TotalVariationBwd>({.points = points},
                                      {.raw = x.point_raw, .d_loss = x.weight, .d_raw = x.d_point_raw});
          x.add_to_loss(ops, x.value);
          x.backward();
        },
};

}  // namespace klab
