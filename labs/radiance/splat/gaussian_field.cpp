#include "labs/radiance/splat/gaussian_field.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/field/settings.h"
#include "labs/radiance/train/views.h"

namespace klab {
namespace {

constexpr int kUsualSide = 400;  // pixels of a picture

class GaussianField : public FieldModel {
 public:
  explicit GaussianField(GaussianModel model) : model_(std::move(model)) {}
  std::string field() const override { return "gaussians"; }
  const Placement& placement() const override { return model_.placement; }
  int64_t bytes() const override { return model_.set.bytes(); }
  void save(const std::filesystem::path& file) const override { model_.save(file); }
  std::vector<PlannedCall> picture_calls(const BackendChoice& where) const override {
    if (where.ladder != "cpu")
      throw std::runtime_error("--backend " + where.backend.name +
                               ": pictures of Gaussians are made on the processor only");
    return painting_calls(model_.set.n, model_.set.degree, kUsualSide, kUsualSide);
  }
  std::function<Picture(const Camera&)> renderer(const Plan& plan, const BackendChoice&) const override {
    const auto painter = std::make_shared<Painter>(plan);
    const float level = model_.placement.black ? 0.0F : 1.0F;
    return [this, painter, level](const Camera& camera) {
      const float background[3] = {level, level, level};
      painter->draw(model_.set, model_.set.degree, camera, background);
      return painter->picture();
    };
  }

 private:
  GaussianModel model_;
};

}  // namespace

SplatOptions GaussianConfig::options() const {
  SplatOptions o;
  o.initial = initial;
  o.degree = int(sh_degree);
  o.ssim = ssim;
  o.position_rate = position_rate;
  o.last_position_rate = last_position_rate;
  o.scale_rate = scale_rate;
  o.rotation_rate = rotation_rate;
  o.opacity_rate = opacity_rate;
  o.color_rate = color_rate;
  o.density.threshold = threshold;
  o.density.budget = budget;
  o.density.most = std::max({most, budget, initial});
  return o;
}

std::vector<PlannedCall> gaussian_calls(const GaussianConfig& c) {
  const int64_t usual = std::max(c.initial, std::min(c.options().density.most, int64_t{50000}));
  return splat_training_calls(usual, int(c.sh_degree), kUsualSide, kUsualSide);
}

int64_t gaussian_bytes(const GaussianConfig& c, const Scene& scene) {
  const int64_t each = GaussianSet::zeros(1, int(c.sh_degree)).bytes();
  const Image& first = with_views(scene).train.front().image;
  return c.options().density.most * (5 * each + 300) + int64_t(first.width) * first.height * 80;
}

std::vector<TensorView> GaussianModel::tensors() const {
  const int64_t n = set.n, functions = int64_t(set.degree + 1) * (set.degree + 1);
  return {{"position", "F32", {3, n}, set.position.data()},
          {"log_scale", "F32", {3, n}, set.log_scale.data()},
          {"quaternion", "F32", {4, n}, set.quaternion.data()},
          {"opacity_raw", "F32", {n}, set.opacity_raw.data()},
          {"coefficients", "F32", {functions, 3, n}, set.coefficients.data()}};
}

std::map<std::string, std::string> GaussianModel::metadata() const {
  return {{"klab", kind},
          {"config", settings_to_json(config)},
          {"placement", placement_to_json(placement)},
          {"gaussians", nlohmann::json{{"n", set.n}, {"degree", set.degree}}.dump()}};
}

void GaussianModel::save(const std::filesystem::path& file) const {
  save_tensors(file, tensors(), metadata());
}

GaussianModel GaussianModel::load(const std::filesystem::path& path) {
  const TensorFile file(path);
  if (file.metadata("klab") != kind)
    throw std::runtime_error(path.string() + ": holds \"" + file.metadata("klab") +
                             "\", not Gaussians of version 1");
  return read(file);
}

GaussianModel GaussianModel::read(const TensorFile& file) {
  const std::string path = file.path().string(), where = path + ", its gaussians";
  GaussianModel model;
  model.config = settings_from_json<GaussianConfig>(file.metadata("config"), path + ", its config");
  model.placement = placement_from(file);
  const nlohmann::json size = parse_json(file.metadata("gaussians"), where);
  const auto n = number_in<int64_t>(size, "n", {1, 1e8}, where);
  const auto degree = number_in<int>(size, "degree", {0, 3}, where);
  // Before memory is taken for them.
  if (size_t(4 * n * (11 + 3 * (degree + 1) * (degree + 1))) > file.data_bytes())
    throw std::runtime_error(path + ": holds less than its metadata say: damaged");
  model.set = GaussianSet::zeros(n, degree);
  for (const TensorView& t : model.tensors()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  return model;
}

std::unique_ptr<FieldModel> field_model(GaussianModel model) {
  return std::make_unique<GaussianField>(std::move(model));
}

GaussianTrainer::GaussianTrainer(const Scene& scene, const GaussianConfig& config, const Plan& plan,
                                 uint64_t seed)
    : scene_(with_views(scene)),
      config_(config),
      plan_(plan),
      seed_(seed),
      trainer_(std::make_unique<SplatTrainer>(scene, config.options(), plan, seed)) {}

StepReport GaussianTrainer::step(double progress) {
  trainer_->step(std::min(progress, 1.0));
  StepReport report;
  report.step = trainer_->steps_done();
  report.rays = int64_t(trainer_->painter().transmittance().size());
  report.samples = trainer_->set().n;
  report.marched = trainer_->painter().entries();
  return report;
}

GaussianModel GaussianTrainer::model() const {
  return {config_, placement_of(scene_, trainer_->black()), trainer_->set()};
}

void GaussianTrainer::save(const std::filesystem::path& file,
                           const std::map<std::string, std::string>& extra) const {
  const GaussianModel now = model();
  std::map<std::string, std::string> metadata = now.metadata();
  metadata.insert(extra.begin(), extra.end());
  nlohmann::json state = {{"seed", seed_}};
  std::vector<TensorView> list = now.tensors();
  trainer_->save_state(list, state);
  metadata["trainer"] = state.dump();
  save_tensors(file, list, metadata);
}

void GaussianTrainer::restore(const TensorFile& file) {
  const std::string where = file.path().string() + ", its trainer state";
  const nlohmann::json state = parse_json(file.metadata("trainer"), where);
  seed_ = number_in<uint64_t>(state, "seed", range::seed, where);
  trainer_ =
      std::make_unique<SplatTrainer>(scene_, config_.options(), plan_, seed_, GaussianModel::read(file).set);
  trainer_->restore_state(file, state, where);
}

}  // namespace klab
