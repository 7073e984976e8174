#include "labs/radiance/field/plan_ops.h"

#include "harness/program/plan.h"

namespace klab {

const std::vector<std::string>& plan_ops() {
  static const std::vector<std::string> ops = {
      "ray_march", "hashgrid_fwd", "mlp_fwd", "sh_fwd", "composite_fwd", "pixel_loss_fwd", "pixel_loss_bwd",
      "composite_bwd", "composite_loss_bwd", "mlp_bwd", "hashgrid_bwd", "adam",
      // Of losses that a config may ask for.
      "opacity_entropy_fwd", "opacity_entropy_bwd", "distortion_fwd", "distortion_bwd"};
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
