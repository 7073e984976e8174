#include "labs/radiance/evaluate/field_model.h"

#include <stdexcept>

#include "labs/radiance/evaluate/frequency_renderer.h"
#include "labs/radiance/evaluate/list_renderer.h"
#include "labs/radiance/evaluate/voxel_renderer.h"

namespace klab {
namespace {

class HashField : public FieldModel {
 public:
  explicit HashField(Model model) : model_(std::move(model)) {}
  std::string field() const override { return "hash"; }
  const Placement& placement() const override { return model_.placement; }
  int64_t bytes() const override { return Model::bytes_of(model_.config, model_.placement.cascades); }
  void save(const std::filesystem::path& file) const override { model_.save(file); }
  std::vector<PlannedCall> picture_calls(const BackendChoice& where) const override {
    return where.ladder == "cpu" ? render_calls(model_.config, model_.placement.cascades)
                                 : ListRenderer::calls(model_, where);
  }
  const Model* as_hash() const override { return &model_; }
  std::function<Picture(const Camera&)> renderer(const Plan& plan, const BackendChoice& where,
                                                 int64_t pixels) const override {
    if (where.ladder == "cpu") {
      const auto renderer = std::make_shared<Renderer>(model_, plan, pixels);
      return [renderer](const Camera& camera) { return renderer->render(camera); };
    }
    require_room(where.backend, ListRenderer::bytes_of(model_, where), "rendering", "take a smaller model");
    const auto renderer = std::make_shared<ListRenderer>(model_, plan, where);
    return [renderer](const Camera& camera) { return renderer->render(camera); };
  }

 private:
  Model model_;
};

class VoxelField : public FieldModel {
 public:
  explicit VoxelField(VoxelModel model) : model_(std::move(model)) {}
  std::string field() const override { return "voxels"; }
  const Placement& placement() const override { return model_.placement; }
  int64_t bytes() const override { return model_.bytes(); }
  void save(const std::filesystem::path& file) const override { model_.save(file); }
  std::vector<PlannedCall> picture_calls(const BackendChoice&) const override {
    return voxel_calls(model_.config, false);
  }
  std::function<Picture(const Camera&)> renderer(const Plan& plan, const BackendChoice& where,
                                                 int64_t) const override {
    const auto renderer = std::make_shared<VoxelRenderer>(model_, plan, where);
    return [renderer](const Camera& camera) { return renderer->render(camera); };
  }

 private:
  VoxelModel model_;
};

class FrequencyField : public FieldModel {
 public:
  explicit FrequencyField(FrequencyModel model) : model_(std::move(model)) {}
  std::string field() const override { return "frequency"; }
  const Placement& placement() const override { return model_.placement; }
  int64_t bytes() const override { return 2 * model_.parameters[0].bytes(); }
  void save(const std::filesystem::path& file) const override { model_.save(file); }
  std::vector<PlannedCall> picture_calls(const BackendChoice& where) const override {
    if (where.ladder != "cpu")
      throw std::runtime_error("--backend " + where.backend.name +
                               ": pictures of a frequency field are made on the processor only");
    return frequency_calls(model_.config, false);
  }
  std::function<Picture(const Camera&)> renderer(const Plan& plan, const BackendChoice&,
                                                 int64_t) const override {
    const auto renderer = std::make_shared<FrequencyRenderer>(model_, plan);
    return [renderer](const Camera& camera) { return renderer->render(camera); };
  }

 private:
  FrequencyModel model_;
};

}  // namespace

std::unique_ptr<FieldModel> field_model(Model model) { return std::make_unique<HashField>(std::move(model)); }
std::unique_ptr<FieldModel> field_model(FrequencyModel model) {
  return std::make_unique<FrequencyField>(std::move(model));
}
std::unique_ptr<FieldModel> field_model(VoxelModel model) {
  return std::make_unique<VoxelField>(std::move(model));
}

}  // namespace klab
