// Pictures of a model from any camera.
//
// A ray is evaluated from the front, a few samples at a time, and dropped as soon as nothing behind can show.
// For opaque surfaces that evaluates the field just around them; a fog costs all its samples.
#pragma once

#include <span>
#include <vector>

#include "labs/radiance/field/rays.h"

namespace klab {

/// Returns the calls that make pictures of a model, for a plan.
std::vector<PlannedCall> render_calls(const Config& config, int cascades, double times = 1,
                                      Storage precision = Storage::f32);

struct Picture {
  int width = 0, height = 0;
  std::vector<float> rgb;      // [height, width, 3], sRGB-encoded as trained, not clipped
  std::vector<float> opacity;  // [height, width]
  std::vector<float> depth;    // [height, width] expected distance in grid units
  // [height, width] distance at which half of the light is absorbed, 0 where less is; empty if it was not computed
  std::vector<float> median_depth{};
};

class Renderer {
 public:
  static constexpr int64_t kRays = 8192;  // pixels at a time

  /// The model must outlive it. Computes `pixels` at a time: fewer take less memory and more calls.
  Renderer(const Model& model, Plan plan, int64_t pixels = kRays);
  Picture render(const Camera& camera);
  const Profile& profile() const { return profile_; }

  /// Returns a picture without pixels, for draw().
  static Picture empty_picture(const Camera& camera);
  /// Draws `pixels` of a camera's pixels, row by row, from `first` on, into a picture of the camera's size. A
  /// pixel does not depend on which others are drawn with it, bit by bit, as long as stretches begin at
  /// multiples of one size.
  void draw(const Camera& camera, int64_t first, int64_t pixels, Picture& out);
  /// Draws the listed pixels, numbered row by row, into a picture of the camera's size; the others stay as they are.
  void draw(const Camera& camera, std::span<const int32_t> pixels, Picture& out);
  /// Ends rays at this transmittance, instead of the config's; at 0 every sample is evaluated.
  void stop_at(double transmittance) { stop_ = float(transmittance); }
  /// Returns how many samples were evaluated so far.
  int64_t samples() const { return samples_; }

  /// Returns the memory that it needs.
  static int64_t bytes_of(const Config& config, int64_t pixels);

 private:
  struct Progress {  // of one ray
    int32_t next;    // its first sample not yet evaluated
    float transmittance;
  };

  /// Draws pixels [begin, end) of the list, or of the picture if `list` is null.
  void draw(const Camera& camera, const int32_t* list, int64_t begin, int64_t end, Picture& out);
  void draw_rays(const Camera& camera, const int32_t* list, int64_t first);
  void render_pieces(const int32_t* list, int64_t first, Picture& out);
  void gather_piece(int64_t longest);
  void shade_piece();

  const Model& model_;
  Plan plan_;
  int64_t pixels_;
  Profile profile_;
  Field field_;
  RayBatch marched_;               // rays of a stretch of pixels with all their samples
  RayBatch piece_;                 // the next few samples of the rays that continue
  std::vector<int32_t> going_on_;  // indices of these rays
  std::vector<Progress> progress_;
  float stop_;  // transmittance at which a ray ends
  int64_t samples_ = 0;
};

}  // namespace klab
