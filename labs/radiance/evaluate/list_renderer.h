// Makes pictures of a model with a program of ops, on any backend: the forward half of a training step.
#pragma once

#include <memory>

#include "labs/radiance/evaluate/list_pictures.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/train_step.h"

namespace klab {

class ListRenderer {
 public:
  /// The model must outlive it. `plan` is one of calls(). Throws std::runtime_error or std::bad_alloc if
  /// there is too little memory.
  ListRenderer(const Model& model, const Plan& plan, const BackendChoice& where);

  /// Like Renderer::render(), but a ray ends at the sample that makes it opaque.
  Picture render(const Camera& camera) {
    return pictures_.render(placement_.in_axes(camera), plan_, profile_);
  }

  /// Returns the calls, for a plan.
  static std::vector<PlannedCall> calls(const Model& model, const BackendChoice& where);
  /// Returns the memory of the backend that it needs.
  static int64_t bytes_of(const Model& model, const BackendChoice& where);

  Profile& profile() { return profile_; }

 private:
  Plan plan_;
  Placement placement_;
  Config config_;
  Memory memory_;
  TrainStep programs_;
  ListPictures pictures_;
  Profile profile_;
};

}  // namespace klab
