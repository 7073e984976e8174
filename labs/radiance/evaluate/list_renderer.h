// Pictures of a model by a list of ops, on any backend: what a training step looks at, forward only.
#pragma once

#include <memory>

#include "labs/radiance/evaluate/list_pictures.h"
#include "labs/radiance/train/backends.h"

namespace klab {

class ListRenderer {
 public:
  /// The model must outlive it. `plan` is one of calls(). Throws std::runtime_error or std::bad_alloc when the memory is not
  /// there.
  ListRenderer(const Model& model, const Plan& plan, const BackendChoice& where);

  /// As Renderer::render(), but that a ray ends at the sample that makes it opaque.
  Picture render(const Camera& camera) { return pictures_.render(camera, plan_, profile_); }

  /// For a plan.
  static std::vector<PlannedCall> calls(const Model& model, const BackendChoice& where);
  /// Memory of the backend that it takes.
  static int64_t bytes_of(const Model& model, const BackendChoice& where);

  Profile& profile() { return profile_; }

 private:
  Plan plan_;
  Config config_;
  TrainStep lists_;
  OpList list_;
  ListPictures pictures_;
  Profile profile_;
};

}  // namespace klab
