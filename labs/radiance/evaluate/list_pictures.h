// Makes pictures with a list of ops, a stretch of pixels at a time, for any field.
#pragma once

#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/train/step.h"

namespace klab {

/// Inputs and outputs of such a list.
struct PictureTensors {
  float* cameras;    // [1,20]
  int64_t* places;   // [1,DrawRays::kPlace]
  int32_t* numbers;  // StepNumbers
  float *color, *opacity, *depth;
  int64_t rays;  // symbol
};

class ListPictures {
 public:
  /// Arena and list must outlive it. `numbers` are those that stay constant. A stretch has at most
  /// `most_rays` rays.
  ListPictures(const Arena& arena, const OpList& list, const PictureTensors& tensors,
               const StepNumbers& numbers, int64_t most_rays, Backend backend);
  /// To mirror arrays of the host, before begin().
  Runner& runner() { return runner_; }
  /// Allocates the memory. Throws std::runtime_error or std::bad_alloc if there is too little.
  void begin();

  /// Like Renderer::render(), but a ray ends at the sample that makes it opaque.
  Picture render(const Camera& camera, const Plan& plan, Profile& profile);

 private:
  void look_from(const Camera& camera);
  int64_t draw(int64_t first, int64_t pixels, const Plan& plan, Profile& profile, Picture& out);

  const OpList& list_;
  PictureTensors t_;
  StepNumbers numbers_;
  int64_t most_rays_;
  Runner runner_;
};

}  // namespace klab
