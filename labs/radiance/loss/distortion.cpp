// Spread of a ray's weights along it (Barron et al., "Mip-NeRF 360", 2022, equation 15; ngp_pl: 1e-3 for scenes without a bound).
#include "labs/radiance/loss/terms.h"
#include "reference/distortion_bwd/distortion_bwd.h"
#include "reference/distortion_fwd/distortion_fwd.h"
#include "reference/sample_weights_bwd/sample_weights_bwd.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"

namespace klab {

constinit const Term terms::distortion = {
    .name = "distortion",
    .unit = "length",
    .weight_of = "weight of a ray's absorption in one place",
    .help = "weights of a ray close together",
    .when_to_try = "cameras look into the open and floaters hang in the air",
    .where = Term::on_samples,
    .needs = Term::densities,
    .ops = {DistortionFwd::name, DistortionBwd::name, SampleWeightsFwd::name, SampleWeightsBwd::name},
    .add =
        [](Ops& ops, const TermTensors& x) {
          ops.call<SampleWeightsFwd>(
              {.rays = x.rays, .samples = x.samples},
              {.ray_begin = x.begin, .density_raw = x.raw, .delta = x.delta, .weights = x.sample_weights});
          ops.call<DistortionFwd>({.rays = x.rays, .samples = x.samples}, {.ray_begin = x.begin,
                                                                           .weights = x.sample_weights,
                                                                           .delta = x.delta,
                                                                           .t = x.t,
                                                                           .loss = x.value});
          ops.call<DistortionBwd>({.rays = x.rays, .samples = x.samples}, {.ray_begin = x.begin,
                                                                           .weights = x.sample_weights,
                                                                           .delta = x.delta,
                                                                           .t = x.t,
                                                                           .d_loss = x.weight,
                                                                           .d_weights = x.d_sample_weights});
          x.add_to_loss(ops, x.value);
          ops.call<SampleWeightsBwd>({.rays = x.rays, .samples = x.samples}, {.ray_begin = x.begin,
                                                                              .density_raw = x.raw,
                                                                              .delta = x.delta,
                                                                              .d_weights = x.d_sample_weights,
                                                                              .d_density_raw = x.d_raw});
        },
};

}  // namespace klab
