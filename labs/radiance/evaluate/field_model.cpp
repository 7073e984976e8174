#include "labs/radiance/evaluate/field_model.h"

#include <algorithm>
#include <stdexcept>

#include "labs/radiance/evaluate/frequency_renderer.h"
#include "labs/radiance/evaluate/list_renderer.h"
#include "labs/radiance/evaluate/voxel_renderer.h"
#include "labs/radiance/train/frequency_step.h"
#include "reference/graded_grid.h"

namespace klab {
namespace {

/// The occupancy bits of a model before it was cropped.
class WholeGrid {
 public:
  /// Sets the bits to those of the whole model; those of the first call are the whole model's.
  void put_back(Array<uint8_t>& bits) {
    if (bits_.empty()) bits_.assign(bits.begin(), bits.end());
    std::ranges::copy(bits_, bits.begin());
  }

 private:
  std::vector<uint8_t> bits_;
};

/// Returns a backend's choice for as many pixels at a time; the usual number has all of its visible samples.
BackendChoice in_pieces(BackendChoice where, int64_t pixels) {
  if (pixels < Renderer::kRays)
    where.picture_samples = std::max<int64_t>(1, where.picture_samples * pixels / Renderer::kRays);
  return where;
}

/// Returns a config whose samples in memory are those of as many pixels, or all that the config has room for.
FrequencyConfig in_pieces(FrequencyConfig config, int64_t pixels) {
  config.chunk = std::min(config.chunk, pixels * (config.coarse + config.fine));
  return config;
}

template <class Renderer>
FieldPictures source_of(const std::shared_ptr<Renderer>& renderer) {
  return {[renderer](const Camera& camera) { return renderer->render(camera); },
          [renderer]() -> const Profile& { return renderer->profile(); }};
}

class HashField : public FieldModel {
 public:
  explicit HashField(Model model) : model_(std::move(model)) {}
  std::string field() const override { return "hash"; }
  const Placement& placement() const override { return model_.placement; }
  int64_t bytes() const override {
    if (model_.precision == Storage::f32) return Model::bytes_of(model_.config, model_.placement.cascades);
    return held_bytes() + model_.occupancy.bytes();
  }
  Storage precision() const override { return model_.precision; }
  int64_t numbers() const override {
    return model_.table_entries() * model_.config.features + model_.density_weights() +
           model_.color_weights();
  }
  int64_t held_bytes() const override { return model_.held_bytes(); }
  void save(const std::filesystem::path& file) const override { model_.save(file); }
  std::vector<PlannedCall> picture_calls(const BackendChoice& where) const override {
    return where.ladder == "cpu" ? render_calls(model_.config, model_.placement.cascades, 1, model_.precision)
                                 : ListRenderer::calls(model_, where);
  }
  const Model* as_hash() const override { return &model_; }
  bool keep_inside(const GridBox& in_grid) override {
    whole_.put_back(model_.occupancy);
    const Placement& place = model_.placement;
    const GridBox box{place.in_axes(in_grid.low), place.in_axes(in_grid.high)};
    const int64_t grid = model_.config.grid, bytes = grid * grid * grid / 8;
    std::vector<float> middles(static_cast<size_t>(grid));
    for (int k = 0; k < model_.placement.cascades; ++k) {
      for (int64_t i = 0; i < grid; ++i)
        middles[size_t(i)] = 0.5F + float(1 << k) * ((float(i) + 0.5F) / float(grid) - 0.5F);
      clear_outside(box, middles, {model_.occupancy.data() + k * bytes, size_t(bytes)});
    }
    return true;
  }
  int64_t piece_bytes(const BackendChoice& where, int64_t pixels) const override {
    return where.ladder == "cpu" ? Renderer::bytes_of(model_.config, pixels)
                                 : ListRenderer::bytes_of(model_, in_pieces(where, pixels));
  }
  FieldPictures renderer(const Plan& plan, const BackendChoice& where, int64_t pixels) const override {
    if (where.ladder == "cpu") {
      const auto renderer = std::make_shared<Renderer>(model_, plan, pixels);
      return source_of(renderer);
    }
    const BackendChoice pieces = in_pieces(where, pixels);
    require_room(where.backend, ListRenderer::bytes_of(model_, pieces), "rendering", "take a smaller model");
    const auto renderer = std::make_shared<ListRenderer>(model_, plan, pieces);
    return source_of(renderer);
  }

 private:
  Model model_;
  WholeGrid whole_;
};

class VoxelField : public FieldModel {
 public:
  explicit VoxelField(VoxelModel model) : model_(std::move(model)) {}
  std::string field() const override { return "voxels"; }
  const Placement& placement() const override { return model_.placement; }
  int64_t bytes() const override { return model_.bytes(); }
  const VoxelModel* as_voxels() const override { return &model_; }
  Storage precision() const override { return model_.precision; }
  int64_t numbers() const override { return model_.rows() * (1 + 3 * model_.config.basis()); }
  int64_t held_bytes() const override { return model_.held_bytes(); }
  void save(const std::filesystem::path& file) const override { model_.save(file); }
  std::vector<PlannedCall> picture_calls(const BackendChoice&) const override {
    return voxel_calls(model_.config, false, kAdamStretch, model_.precision);
  }
  int64_t piece_bytes(const BackendChoice& where, int64_t pixels) const override {
    return VoxelRenderer::bytes_of(model_, in_pieces(where, pixels));
  }
  bool keep_inside(const GridBox& box) override {
    whole_.put_back(model_.occupancy);
    const auto side = double(model_.placement.side());
    const GradedGrid graded = GradedGrid::of(side, model_.is_graded());
    const auto cells = int32_t(model_.grid);
    const auto plane = [&](int32_t k) {
      return graded.even() ? side * (double(k) / double(cells) - 0.5) : graded.plane<double>(k, cells);
    };
    std::vector<float> middles;
    for (int32_t k = 0; k < cells; ++k) middles.push_back(float(0.5 + (plane(k) + plane(k + 1)) / 2));
    clear_outside(box, middles, {model_.occupancy.data(), size_t(model_.occupancy.size())});
    return true;
  }
  FieldPictures renderer(const Plan& plan, const BackendChoice& where, int64_t pixels) const override {
    const auto renderer = std::make_shared<VoxelRenderer>(model_, plan, in_pieces(where, pixels));
    return source_of(renderer);
  }

 private:
  VoxelModel model_;
  WholeGrid whole_;
};

class FrequencyField : public FieldModel {
 public:
  explicit FrequencyField(FrequencyModel model) : model_(std::move(model)) {}
  std::string field() const override { return "frequency"; }
  const Placement& placement() const override { return model_.placement; }
  const FrequencyModel* as_frequency() const override { return &model_; }
  int64_t bytes() const override { return held_bytes(); }
  Storage precision() const override { return model_.precision; }
  int64_t numbers() const override { return 2 * FrequencyNet(model_.config).size; }
  int64_t held_bytes() const override { return model_.held_bytes(); }
  void save(const std::filesystem::path& file) const override { model_.save(file); }
  std::vector<PlannedCall> picture_calls(const BackendChoice&) const override {
    return frequency_calls(model_.config, false, model_.precision);
  }
  int64_t piece_bytes(const BackendChoice&, int64_t pixels) const override {
    return FrequencyPasses::bytes_of(in_pieces(model_.config, pixels));
  }
  FieldPictures renderer(const Plan& plan, const BackendChoice& where, int64_t pixels) const override {
    const auto renderer =
        std::make_shared<FrequencyRenderer>(model_, plan, in_pieces(model_.config, pixels), where.backend);
    return source_of(renderer);
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
