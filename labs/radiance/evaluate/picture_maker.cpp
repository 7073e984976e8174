#include "labs/radiance/evaluate/picture_maker.h"

namespace klab {
namespace {

std::vector<PlannedCall> calls_of(const Model& model, const BackendChoice& where) {
  return where.ladder == "cpu" ? render_calls(model.config, model.placement.cascades)
                               : ListRenderer::calls(model, where);
}

}  // namespace

void require_picture_plan(const std::string& plan, const Model& model, const BackendChoice& where) {
  const auto calls = calls_of(model, where);
  Plan::require(plan_ids(plan, calls, where.ladder), plan, calls, where.ladder);
}

PictureMaker::PictureMaker(const Model& model, const std::string& plan, const BackendChoice& where,
                           CallTimes& times, const std::optional<Plan>& given, int64_t pixels)
    : plan_(given ? *given : Plan::named(plan, calls_of(model, where), times, where.ladder)) {
  if (where.ladder == "cpu") {
    const auto renderer = std::make_shared<Renderer>(model, plan_, pixels);
    render_ = [renderer](const Camera& camera) { return renderer->render(camera); };
    return;
  }
  require_room(where.backend, ListRenderer::bytes_of(model, where), "rendering", "take a smaller model");
  const auto renderer = std::make_shared<ListRenderer>(model, plan_, where);
  render_ = [renderer](const Camera& camera) { return renderer->render(camera); };
}

}  // namespace klab
