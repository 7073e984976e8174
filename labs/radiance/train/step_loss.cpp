// The loss of a step: its terms and their gradients.
#include "labs/radiance/train/step.h"
#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/depth_loss_bwd/depth_loss_bwd.h"
#include "reference/depth_loss_fwd/depth_loss_fwd.h"
#include "reference/distortion_bwd/distortion_bwd.h"
#include "reference/distortion_fwd/distortion_fwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"
#include "reference/sample_weights_bwd/sample_weights_bwd.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"

namespace klab {
// Weights a term's loss by the rays' weights times the term's own.
void TrainStep::weigh_term(OpList& list, const float* weight) const {
  list.fill("loss", term_weight_, 0, ray_capacity(c_) * int64_t(sizeof(float)));
  list.add<Axpy>("loss", {.n = t.rays}, {.a = weight, .x = weight_, .y = term_weight_});
}

void TrainStep::lose(OpList& list, bool fused) const {
  const int64_t kind = loss_kind(c_.loss);
  if (fused) return lose_fused(list, kind);
  lose_pixels(list, kind);
  if (c_.opacity_entropy > 0) {
    weigh_term(list, number(&StepNumbers::entropy));
    list.add<OpacityEntropyFwd>("loss", {.rays = t.rays}, {.opacity = t.opacity, .loss = value_});
    list.add<OpacityEntropyBwd>("loss", {.rays = t.rays},
                                {.opacity = t.opacity, .d_loss = term_weight_, .d_opacity = d_opacity_});
    add_up(list, term_weight_);
  }
  if (c_.depth > 0) {
    weigh_term(list, number(&StepNumbers::depth));
    list.add<DepthLossFwd>("loss", {.rays = t.rays},
                           {.depth = t.depth, .truth = target_depth_, .loss = value_});
    list.add<DepthLossBwd>(
        "loss", {.rays = t.rays},
        {.depth = t.depth, .truth = target_depth_, .d_loss = term_weight_, .d_depth = d_depth_});
    add_up(list, term_weight_);
  }
  composite_back(list);
}

void TrainStep::add_distortion(OpList& list) const {
  if (!(c_.distortion > 0)) return;
  const DistortionFwd::Shape shape = {.rays = t.rays, .samples = t.samples};
  const SampleWeightsFwd::Shape weigh = {.rays = t.rays, .samples = t.samples};
  weigh_term(list, number(&StepNumbers::distortion));
  list.add<SampleWeightsFwd>(
      "loss", weigh,
      {.ray_begin = t.begin, .density_raw = raw_, .delta = sample_delta_, .weights = weights_});
  list.add<DistortionFwd>(
      "loss", shape,
      {.ray_begin = t.begin, .weights = weights_, .delta = sample_delta_, .t = sample_t_, .loss = value_});
  list.add<DistortionBwd>("loss", shape,
                          {.ray_begin = t.begin,
                           .weights = weights_,
                           .delta = sample_delta_,
                           .t = sample_t_,
                           .d_loss = term_weight_,
                           .d_weights = d_weights_});
  add_up(list, term_weight_);
  list.add<SampleWeightsBwd>("loss", weigh,
                             {.ray_begin = t.begin,
                              .density_raw = raw_,
                              .delta = sample_delta_,
                              .d_weights = d_weights_,
                              .d_density_raw = d_raw_});
}

void TrainStep::add_variation(OpList& list) const {
  if (!(c_.total_variation > 0)) return;
  const std::string stage = "total variation";
  constexpr int64_t n = 4 * kVariationPoints;
  draw_variation(list);
  look_up(list, stage, n, variation_positions_, variation_features_);
  list.add<MlpFwd>(
      stage, density_shape(c_, n),
      {.x = variation_features_, .weights = used_[size_t(Part::density)], .y = variation_geometry_});
  lose_variation(list, variation_geometry_, d_variation_);
  round_gradient(list, d_variation_, c_.geometry_features, n, true);
  list.add<MlpBwd>(stage, density_shape(c_, n),
                   {.x = variation_features_,
                    .weights = used_[size_t(Part::density)],
                    .d_y = d_variation_,
                    .d_x = d_variation_features_,
                    .d_weights = t.gradient[size_t(Part::density)]});
  round_gradient(list, d_variation_features_, c_.levels * c_.features, n);
  if (formats_.gradients != nullptr)
    list.add<AllFinite>("all_finite", {.n = c_.levels * c_.features * n},
                        {.p = d_variation_features_, .first = numbers(&StepNumbers::not_finite) + 2});
  unscale(list, d_variation_features_, c_.levels * c_.features * n, 2);
  scatter(list, stage, n, variation_positions_, d_variation_features_);
}

}  // namespace klab
