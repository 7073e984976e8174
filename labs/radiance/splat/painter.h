// Pictures of Gaussians, and the gradients of pictures, by the ops of lab 15.
#pragma once

#include <string>
#include <vector>

#include "harness/program/plan.h"
#include "harness/program/profile.h"
#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/splat/gaussians.h"

namespace klab {

/// The calls that pictures are made of, for a plan; about three tiles a Gaussian.
std::vector<PlannedCall> painting_calls(int64_t n, int degree, int width, int height);
/// Those of a training step.
std::vector<PlannedCall> splat_training_calls(int64_t n, int degree, int width, int height);

/// One view at a time: draw(), then, for the same set and view, backward().
class Painter {
 public:
  explicit Painter(Plan plan) : plan_(std::move(plan)) {}

  /// `degree` of the colors is at most that of the set. The image stays until the next call.
  void draw(const GaussianSet& set, int degree, const Camera& camera, const float (&background)[3]);
  /// Gradients of a loss with d_image [3,height,width]: to `out`, of the set's size and degree; those above `degree` of the
  /// last draw() are 0.
  void backward(const GaussianSet& set, const std::vector<float>& d_image, GaussianSet& out);

  const std::vector<float>& image() const { return image_; }  // [3,height,width]
  const std::vector<float>& transmittance() const { return transmittance_; }
  const std::vector<float>& extent() const { return extent_; }  // [2,n]; 0 of what was not drawn
  const std::vector<float>& d_mean() const { return d_mean_; }  // [2,n] of the last backward()
  int64_t entries() const { return entries_; }                  // of all tiles' lists
  /// The picture as others have it; no depth.
  Picture picture() const;
  const Profile& profile() const { return profile_; }
  Profile& profile() { return profile_; }
  const Plan& plan() const { return plan_; }

 private:
  void project(const GaussianSet& set);
  void sort_and_bin(int64_t n);

  Plan plan_;
  Profile profile_;
  int width_ = 0, height_ = 0, degree_ = 0;
  int64_t entries_ = 0;
  std::array<float, 17> camera_{};
  float eye_[3] = {0, 0, 0};
  std::vector<float> mean_, conic_, depth_, opacity_, extent_, color_, image_, transmittance_;
  std::vector<float> d_mean_, d_conic_, d_opacity_, d_color_, d_position_;
  std::vector<int64_t> keys_, sorted_keys_;
  std::vector<int32_t> values_, order_, tile_begin_, id_;
};

}  // namespace klab
