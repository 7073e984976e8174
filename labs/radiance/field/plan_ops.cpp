#include "labs/radiance/field/plan_ops.h"

#include "harness/program/op_names.h"
#include "harness/program/plan.h"
#include "labs/radiance/loss/terms.h"
#include "reference/adam/adam.h"
#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/cast/cast.h"
#include "reference/clip_norm/clip_norm.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/draw_rays/draw_rays.h"
#include "reference/ema/ema.h"
#include "reference/error_map_draw/error_map_draw.h"
#include "reference/error_map_learn/error_map_learn.h"
#include "reference/error_map_weigh/error_map_weigh.h"
#include "reference/frequency_fwd/frequency_fwd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "reference/hashtable_narrow_fwd/hashtable_narrow_fwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"
#include "reference/occupancy_bits/occupancy_bits.h"
#include "reference/occupancy_choose/occupancy_choose.h"
#include "reference/occupancy_place/occupancy_place.h"
#include "reference/occupancy_update/occupancy_update.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"
#include "reference/place_samples/place_samples.h"
#include "reference/ray_march/ray_march.h"
#include "reference/ray_weights/ray_weights.h"
#include "reference/round_narrow/round_narrow.h"
#include "reference/sample_begin/sample_begin.h"
#include "reference/sh_fwd/sh_fwd.h"
#include "reference/spread_samples/spread_samples.h"
#include "reference/unscale/unscale.h"
#include "reference/visible_compact/visible_compact.h"
#include "reference/visible_limit/visible_limit.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {

const std::vector<std::string>& plan_ops() {
  static const std::vector<std::string> ops = with_ops_of_terms(
      op_names<DrawRays, RayMarch, SampleBegin, PlaceSamples, HashgridFwd, MlpFwd, VisibleLimit, RayWeights,
               SpreadSamples, VisibleCompact, ShFwd, CompositeFwd, PixelLossFwd, PixelLossBwd, CompositeBwd,
               CompositeLossBwd, WeightedSum, MlpBwd, Axpy, HashgridBwd, AllFinite, Adam, Ema,
               // Not in every step.
               OccupancyChoose, OccupancyPlace, OccupancyUpdate, OccupancyBits,
               // Only if the config asks for them.
               ClipNorm, FrequencyFwd, HashtableFwd, HashtableBwd, ErrorMapDraw, ErrorMapWeigh, ErrorMapLearn,
               // Only for pictures of a model in fewer bits.
               HashtableNarrowFwd, MlpNarrowFwd, MlpInt8Fwd,
               // Only if gradients are stored in fewer bits.
               RoundNarrow, Cast, Unscale>());
  return ops;
}

namespace {

const PlannedProgramRegistrar trainer({
    .name = "the trainer",
    .ops = plan_ops(),
    .fused = std::string(CompositeLossBwd::name),
    .parts = op_names<CompositeFwd, PixelLossFwd, PixelLossBwd, CompositeBwd>(),
});

}  // namespace
}  // namespace klab
