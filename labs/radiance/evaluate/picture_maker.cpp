#include "labs/radiance/evaluate/picture_maker.h"

namespace klab {

Unit picture_unit(const FieldModel& model) {
  return model.precision() == Storage::f32 ? Unit::f32 : Unit::bf16;
}

void require_picture_plan(const std::string& plan, const FieldModel& model, const BackendChoice& where) {
  const auto calls = model.picture_calls(where);
  Plan::require(plan_ids(plan, calls, where.ladder), plan, calls, where.ladder);
}

PictureMaker::PictureMaker(const FieldModel& model, const std::string& plan, const BackendChoice& where,
                           CallTimes& times, const std::optional<Plan>& given, int64_t pixels)
    : plan_(given ? *given
                  : Plan::named(plan, model.picture_calls(where), times, where.ladder, picture_unit(model))),
      source_(model.renderer(plan_, where, pixels)) {}

}  // namespace klab
