// Makes pictures of a field on the backend and by the plan that the command line names.
#pragma once

#include <functional>
#include <optional>

#include "labs/radiance/evaluate/field_model.h"

namespace klab {

/// Returns the coarsest arithmetic that rungs of a model's pictures may have without being named: pictures of a model in
/// fewer bits may have factors of 16.
Unit picture_unit(const FieldModel& model);

/// Throws like Plan::require() if a plan of pictures cannot run on this backend.
void require_picture_plan(const std::string& plan, const FieldModel& model, const BackendChoice& where);

class PictureMaker {
 public:
  /// The model must outlive it. `plan` is "best", "naive" or a file, unless one is `given` for the processor;
  /// `pixels` as in FieldModel::renderer(). Throws std::runtime_error for a plan that cannot run, and if the
  /// backend has too little memory.
  PictureMaker(const FieldModel& model, const std::string& plan, const BackendChoice& where, CallTimes& times,
               const std::optional<Plan>& given = {}, int64_t pixels = Renderer::kRays);

  std::function<Picture(const Camera&)> render() const { return source_.make; }
  /// Seconds of the ops of all pictures so far.
  const Profile& profile() const { return source_.profile(); }
  /// The variant chosen for each op.
  const Plan& plan() const { return plan_; }

 private:
  Plan plan_;
  FieldPictures source_;
};

}  // namespace klab
