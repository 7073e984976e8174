// Makes pictures with a program of ops, a stretch of pixels at a time, for any field.
#pragma once

#include "harness/program/measure_ops.h"
#include "harness/program/run_ops.h"
#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/train/ray_step.h"

namespace klab {

class ListPictures {
 public:
  /// `step` has declared its tensors in the memory, and `program` is its picture; both must outlive it. `numbers` are those that stay
  /// constant. A stretch has at most `most_rays` rays.
  ListPictures(Memory& memory, const RayStep& step, RunOps::Body program, const StepNumbers& numbers,
               int64_t most_rays);
  /// Allocates the memory that the program needs. Arrays of the host are mirrored before. Throws
  /// std::runtime_error or std::bad_alloc if there is too little.
  void begin();

  /// Like Renderer::render(), but a ray ends at the sample that makes it opaque.
  Picture render(const Camera& camera, const Plan& plan, Profile& profile);

 private:
  void look_from(const Camera& camera);
  int64_t draw(int64_t first, int64_t pixels, const Plan& plan, Profile& profile, Picture& out);

  Memory& memory_;
  const RayStep& step_;
  RunOps::Body program_;
  StepNumbers numbers_;
  int64_t most_rays_;
  RunOps ops_;
};

}  // namespace klab
