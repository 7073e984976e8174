// The part of a step that says how wrong the batch is: terms of the loss and their gradients.
#include "labs/radiance/train/step.h"
#include "reference/axpy/axpy.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/depth_loss_bwd/depth_loss_bwd.h"
#include "reference/depth_loss_fwd/depth_loss_fwd.h"
#include "reference/distortion_bwd/distortion_bwd.h"
#include "reference/distortion_fwd/distortion_fwd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"
#include "reference/sample_weights_bwd/sample_weights_bwd.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"
#include "reference/total_variation_bwd/total_variation_bwd.h"
#include "reference/total_variation_fwd/total_variation_fwd.h"
#include "reference/variation_points/variation_points.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {
namespace {

int64_t loss_kind(const Config& c) { return c.loss == "mse" ? 0 : c.loss == "huber" ? 1 : 2; }

}  // namespace

// A term's share of the loss counts for the rays' weights times its own.
void TrainStep::weigh_term(OpList& list, const float* weight) const {
  list.fill("loss", term_weight_, 0, ray_capacity(c_) * int64_t(sizeof(float)));
  list.add<Axpy>("loss", {.n = t.rays}, {.a = weight, .x = weight_, .y = term_weight_});
}

void TrainStep::lose(OpList& list, bool fused) const {
  const float* raw = arena.row(color_in_, color_shape(c_, 0).in - c_.geometry_features);
  const PixelLossFwd::Shape pixels = {.n = t.rays, .kind = loss_kind(c_)};
  const auto add_up = [&](const float* weight) {
    list.add<WeightedSum>("loss", {.n = t.rays},
                          {.weight = weight, .value = value_, .sum = number(&StepNumbers::loss)});
  };
  if (fused) {
    list.add<CompositeLossBwd>("composite_loss_bwd",
                               {.rays = t.rays, .samples = t.samples, .kind = loss_kind(c_)},
                               {.ray_begin = t.begin,
                                .density_raw = raw,
                                .rgb = rgb_,
                                .delta = sample_delta_,
                                .background = backdrop_,
                                .target = t.target,
                                .d_loss = weight_,
                                .loss = value_,
                                .d_density_raw = d_raw_,
                                .d_rgb = d_rgb_});
    add_up(weight_);
    return;
  }
  composite(list);
  list.add<PixelLossFwd>("pixel_loss_fwd", pixels,
                         {.prediction = t.color, .target = t.target, .loss = value_});
  list.add<PixelLossBwd>(
      "pixel_loss_bwd", pixels,
      {.prediction = t.color, .target = t.target, .d_loss = weight_, .d_prediction = d_color_});
  add_up(weight_);
  if (c_.opacity_entropy > 0) {
    weigh_term(list, number(&StepNumbers::entropy));
    list.add<OpacityEntropyFwd>("loss", {.rays = t.rays}, {.opacity = t.opacity, .loss = value_});
    list.add<OpacityEntropyBwd>("loss", {.rays = t.rays},
                                {.opacity = t.opacity, .d_loss = term_weight_, .d_opacity = d_opacity_});
    add_up(term_weight_);
  }
  if (c_.depth > 0) {
    weigh_term(list, number(&StepNumbers::depth));
    list.add<DepthLossFwd>("loss", {.rays = t.rays},
                           {.depth = t.depth, .truth = target_depth_, .loss = value_});
    list.add<DepthLossBwd>(
        "loss", {.rays = t.rays},
        {.depth = t.depth, .truth = target_depth_, .d_loss = term_weight_, .d_depth = d_depth_});
    add_up(term_weight_);
  }
  list.add<CompositeBwd>("composite_bwd", {.rays = t.rays, .samples = t.samples},
                         {.ray_begin = t.begin,
                          .density_raw = raw,
                          .rgb = rgb_,
                          .delta = sample_delta_,
                          .t = sample_t_,
                          .background = backdrop_,
                          .d_color = d_color_,
                          .d_opacity = d_opacity_,
                          .d_depth = d_depth_,
                          .d_density_raw = d_raw_,
                          .d_rgb = d_rgb_});
}

void TrainStep::add_distortion(OpList& list) const {
  if (!(c_.distortion > 0)) return;
  const float* raw = arena.row(color_in_, color_shape(c_, 0).in - c_.geometry_features);
  const DistortionFwd::Shape shape = {.rays = t.rays, .samples = t.samples};
  const SampleWeightsFwd::Shape weigh = {.rays = t.rays, .samples = t.samples};
  weigh_term(list, number(&StepNumbers::distortion));
  list.add<SampleWeightsFwd>(
      "loss", weigh, {.ray_begin = t.begin, .density_raw = raw, .delta = sample_delta_, .weights = weights_});
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
  list.add<WeightedSum>("loss", {.n = t.rays},
                        {.weight = term_weight_, .value = value_, .sum = number(&StepNumbers::loss)});
  list.add<SampleWeightsBwd>("loss", weigh,
                             {.ray_begin = t.begin,
                              .density_raw = raw,
                              .delta = sample_delta_,
                              .d_weights = d_weights_,
                              .d_density_raw = d_raw_});
}

void TrainStep::add_variation(OpList& list) const {
  if (!(c_.total_variation > 0)) return;
  const std::string stage = "total variation";
  constexpr int64_t points = kVariationPoints, n = 4 * points;
  list.add<VariationPoints>(stage, {.points = points},
                            {.seed = numbers(&StepNumbers::seed),
                             .step = numbers(&StepNumbers::step),
                             .h = number(&StepNumbers::cell),
                             .positions = variation_positions_});
  list.add<HashgridFwd>(stage, hash_shape(c_, cascades_, n),
                        {.positions = variation_positions_,
                         .table = t.parameters[size_t(Part::table)],
                         .table_half = nullptr,
                         .features = variation_features_});
  list.add<MlpFwd>(
      stage, density_shape(c_, n),
      {.x = variation_features_, .weights = t.parameters[size_t(Part::density)], .y = variation_geometry_});
  list.fill(stage, variation_weight_, 0, points * int64_t(sizeof(float)));
  list.add<Axpy>(stage, {.n = points},
                 {.a = number(&StepNumbers::variation), .x = ones_, .y = variation_weight_});
  list.add<TotalVariationFwd>(stage, {.points = points},
                              {.raw = variation_geometry_, .loss = variation_loss_});
  list.add<TotalVariationBwd>(
      stage, {.points = points},
      {.raw = variation_geometry_, .d_loss = variation_weight_, .d_raw = d_variation_});
  list.add<WeightedSum>(
      stage, {.n = points},
      {.weight = variation_weight_, .value = variation_loss_, .sum = number(&StepNumbers::loss)});
  list.add<MlpBwd>(stage, density_shape(c_, n),
                   {.x = variation_features_,
                    .weights = t.parameters[size_t(Part::density)],
                    .d_y = d_variation_,
                    .d_x = d_variation_features_,
                    .d_weights = t.gradient[size_t(Part::density)]});
  list.add<HashgridBwd>(stage, hash_shape(c_, cascades_, n),
                        {.positions = variation_positions_,
                         .d_features = d_variation_features_,
                         .d_table = t.gradient[size_t(Part::table)]});
}

}  // namespace klab
