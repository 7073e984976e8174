// Renders Gaussians and computes gradients of the picture, by the ops of lab 15.
#pragma once

#include <string>
#include <vector>

#include "harness/program/run_ops.h"
#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/splat/gaussians.h"

namespace klab {

/// How Gaussians are drawn, and which gradients are wanted.
struct Painting {
  bool antialiased = false;  // GaussianSet::antialiased
  bool pull = false;         // sums of absolute gradients of the means, too
};

/// Returns the calls of a picture, for a plan: what measuring draw() finds for that many Gaussians.
std::vector<PlannedCall> painting_calls(int64_t n, int degree, int width, int height,
                                        const Painting& how = {});

/// Renders one view at a time: draw(), then, for the same set and view, backward().
class Painter {
 public:
  /// The backend's arrays must be in the host's memory (carried_backend()).
  explicit Painter(Plan plan, const Backend& backend = cpu_backend())
      : plan_(std::move(plan)), memory_(backend) {}

  /// Draws the set with colors up to `degree`, which is at most that of the set. The image is valid until the
  /// next call.
  void draw(const GaussianSet& set, int degree, const Camera& camera, const float (&background)[3]) {
    run("draw", [&](Ops& ops) { draw(ops, set, degree, camera, background); });
  }
  void draw(Ops& ops, const GaussianSet& set, int degree, const Camera& camera, const float (&background)[3]);
  /// Writes the gradients of a loss with d_image [3,height,width] to `out`, which has the set's size and
  /// degree. Those above `degree` of the last draw() are 0. `pull` asks for pull().
  void backward(const GaussianSet& set, const std::vector<float>& d_image, GaussianSet& out,
                bool pull = false) {
    run("backward", [&](Ops& ops) { backward(ops, set, d_image, out, pull); });
  }
  void backward(Ops& ops, const GaussianSet& set, const std::vector<float>& d_image, GaussianSet& out,
                bool pull);
  /// Makes room in the tiles' lists for the usual number of entries of n Gaussians, about three tiles for each; for measuring.
  void expect(int64_t n) { id_.resize(size_t(3 * n)); }

  const std::vector<float>& image() const { return image_; }  // [3,height,width]
  const std::vector<float>& transmittance() const { return transmittance_; }
  const std::vector<float>& extent() const { return extent_; }  // [2,n]; 0 if not drawn
  const std::vector<float>& d_mean() const { return d_mean_; }  // [2,n] of the last backward()
  /// Sums over pixels of the absolute gradients of the means, [2,n], of the last backward() that was asked for them.
  const std::vector<float>& pull() const { return pull_; }
  int64_t entries() const { return entries_; }  // length of all tiles' lists
  /// Returns the picture in the common form, without depth.
  Picture picture() const;
  /// Adds the expected and the median depth of the last draw() of this set. Takes about as long as drawing.
  void add_depth(const GaussianSet& set, Picture& picture) const;
  /// Returns the memory that its arrays have reserved.
  int64_t held_bytes() const;
  const Profile& profile() const { return profile_; }
  Profile& profile() { return profile_; }
  /// Runs a program of ops with the plan, timed in the profile.
  void run(const std::string& name, const RunOps::Body& program) { ops_.run(name, plan_, profile_, program); }

 private:
  void project(Ops& ops, const GaussianSet& set);
  void sort_and_bin(Ops& ops, int64_t n);
  void rasterize_backward(Ops& ops, const GaussianSet& set, const std::vector<float>& d_image, bool pull);
  /// Opacities that the rasterizer sees.
  const std::vector<float>& drawn_opacity() const { return antialiased_ ? shown_ : opacity_; }

  Plan plan_;
  Profile profile_;
  Memory memory_;  // none of its own: arrays change their size with the set
  RunOps ops_{memory_};
  int width_ = 0, height_ = 0, degree_ = 0;
  int64_t entries_ = 0;
  bool antialiased_ = false;
  std::array<float, 17> camera_{};
  float eye_[3] = {0, 0, 0};
  std::vector<float> mean_, conic_, depth_, opacity_, shown_, extent_, color_, image_, transmittance_;
  std::vector<float> d_mean_, d_conic_, d_opacity_, d_shown_, d_color_, d_position_, pull_;
  std::vector<int64_t> keys_, sorted_keys_;
  std::vector<int32_t> values_, order_, tile_begin_, id_;
};

}  // namespace klab
