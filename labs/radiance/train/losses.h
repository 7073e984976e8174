// What a batch is told about its mistakes: the pixels' loss, and what else the config asks for, with gradients.
//
//   loss = 1/R · sum over the R rays of
//            pixel loss (mse, huber or smooth L1)                      lab 14
//          + opacity_entropy · (-o·ln o)                               ngp_pl
//          + distortion · (how spread out the ray's weights are)       Barron et al. 2022, equation 15
//          + depth · (expected distance - true distance)^2 / 2         where the scene knows it; Deng et al. 2022
//        + total_variation · 1/P · sum over P points and 3 axes of (raw(x + h·axis) - raw(x))^2
//
// with raw the logarithm of the density and h the edge of a cell of the occupancy grid (Yu et al., "Plenoxels", 2022,
// section 3.3, has the same sum over a voxel grid's neighbors).
#pragma once

#include <span>

#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/field/rays.h"

namespace klab {

/// The calls of one step that the config's terms of the loss make, for a plan.
std::vector<PlannedCall> loss_calls(const Config& config, int cascades, int64_t rays, int64_t samples);

/// What the batch should have looked like.
struct Truth {
  Array<float> color;  // [3,rays]
  Array<float> depth;  // [rays] distance along the ray in grid space; 0: not known
};

class Losses {
 public:
  /// Room for `rays` and `samples`; arrays of terms with weight 0 are not allocated.
  Losses(const Config& config, const Plan& plan, int64_t rays, int64_t samples);

  /// The loss of a shaded batch without the total variation. Afterwards d_color(), d_opacity() and d_depth() hold its
  /// gradient, but for that of the distortion, which add_distortion_gradient() brings.
  double evaluate(const RayBatch& batch, const Truth& truth, const float* density_raw);

  /// Whether the plan's composite_loss_bwd brings the gradients of samples and the loss of pixels, so that nobody asks for
  /// colors: not if a term's gradient goes through opacities or depths.
  bool fused() const;

  /// evaluate() and composite_bwd in one, where fused(): the loss of a batch whose rays have no colors yet, without the total
  /// variation, and its gradient with respect to density_raw [samples] and rgb [3,samples], less the distortion's.
  double evaluate_fused(const RayBatch& batch, const Truth& truth, const float* density_raw, const float* rgb,
                        float* d_density_raw, float* d_rgb, Profile& profile);

  /// Adds the distortion's gradient with respect to density_raw, [samples], to d_density_raw.
  void add_distortion_gradient(const RayBatch& batch, const float* density_raw, float* d_density_raw);

  float* d_color() const { return d_color_.data(); }      // [3,rays]
  float* d_opacity() const { return d_opacity_.data(); }  // [rays]
  float* d_depth() const { return d_depth_.data(); }      // [rays]

  static int64_t bytes_of(const Config& config, int64_t rays, int64_t samples);

 private:
  double pixels(const RayBatch& batch, const Truth& truth);
  double entropy(const RayBatch& batch);
  double depth(const RayBatch& batch, const Truth& truth);
  double distortion(const RayBatch& batch, const float* density_raw);

  const Config& config_;
  const Plan& plan_;
  Array<float> d_color_, d_opacity_, d_depth_;
  Array<float> value_, d_value_;                      // [rays], of the term at hand
  Array<float> weights_, transmittance_, d_weights_;  // [samples]; transmittance behind each sample
};

/// Points at which a step looks at the total variation. Each takes four evaluations of the density.
inline constexpr int64_t kVariationPoints = 1024;

/// config.total_variation times the mean variation at points drawn for `step`; adds its gradient to that of table and
/// density network. Writes over the field's features and geometry.
double total_variation(const Model& model, const Plan& plan, Field& field, uint64_t seed, int64_t step,
                       std::array<OptimizerState, 3>& gradients);

}  // namespace klab
