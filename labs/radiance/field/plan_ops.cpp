#include "labs/radiance/field/plan_ops.h"

#include "harness/program/plan.h"
#include "labs/radiance/loss/terms.h"

namespace klab {

const std::vector<std::string>& plan_ops() {
  static const std::vector<std::string> ops = with_ops_of_terms(
      {"draw_rays", "ray_march", "sample_begin", "place_samples", "hashgrid_fwd", "mlp_fwd", "visible_limit",
       "ray_weights", "spread_samples", "visible_compact", "sh_fwd", "composite_fwd", "pixel_loss_fwd",
       "pixel_loss_bwd", "composite_bwd", "composite_loss_bwd", "weighted_sum", "mlp_bwd", "axpy",
       "hashgrid_bwd", "all_finite", "adam", "ema",
       // Not in every step.
       "occupancy_choose", "occupancy_place", "occupancy_update", "occupancy_bits",
       // Only if the config asks for them.
       "clip_norm", "frequency_fwd", "hashtable_fwd", "hashtable_bwd", "error_map_draw", "error_map_weigh",
       "error_map_learn",
       // Only for pictures of a model in fewer bits.
       "hashtable_narrow_fwd", "mlp_narrow_fwd", "mlp_int8_fwd",
       // Only if gradients are stored in fewer bits.
       "round_narrow", "cast", "unscale"});
  return ops;
}

namespace {

const PlannedProgramRegistrar trainer({
    .name = "the trainer",
    .ops = plan_ops(),
    .fused = "composite_loss_bwd",
    .parts = {"composite_fwd", "pixel_loss_fwd", "pixel_loss_bwd", "composite_bwd"},
});

}  // namespace
}  // namespace klab
