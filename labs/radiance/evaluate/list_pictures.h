// Pictures by a list of ops, a stretch of pixels at a time, whatever field the list looks at.
#pragma once

#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/train/step.h"

namespace klab {

/// What such a list is told, and what it leaves behind.
struct PictureTensors {
  float* cameras;    // [1,20]
  int64_t* places;   // [1,DrawRays::kPlace]
  int32_t* numbers;  // StepNumbers
  float *color, *opacity, *depth;
  int64_t rays;  // symbol
};

class ListPictures {
 public:
  /// Arena and list must outlive it. `numbers` are those that do not change; at most `most_rays` rays come in a stretch.
  ListPictures(const Arena& arena, const OpList& list, const PictureTensors& tensors,
               const StepNumbers& numbers, int64_t most_rays, Backend backend);
  /// For mirrors of arrays of the host, before begin().
  Runner& runner() { return runner_; }
  /// Takes the memory. Throws std::runtime_error or std::bad_alloc when it is not there.
  void begin();

  /// As Renderer::render(), but that a ray ends at the sample that makes it opaque.
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
