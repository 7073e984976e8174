#include "labs/radiance/splat/gaussian_field.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/program/carried_backend.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/train/views.h"

namespace klab {
namespace {

constexpr int kUsualSide = 400;      // pixels along the side of a picture
constexpr float kTransparent = -30;  // opacity, as its logit

class GaussianField : public FieldModel {
 public:
  explicit GaussianField(GaussianModel model) : model_(std::move(model)) {}
  std::string field() const override { return "gaussians"; }
  const Placement& placement() const override { return model_.placement; }
  int64_t bytes() const override { return model_.set.bytes(); }
  const GaussianModel* as_gaussians() const override { return &model_; }
  int64_t numbers() const override { return bytes() / int64_t(sizeof(float)); }
  int64_t held_bytes() const override { return bytes(); }
  void save(const std::filesystem::path& file) const override { model_.save(file); }
  std::vector<PlannedCall> picture_calls(const BackendChoice&) const override {
    return painting_calls(model_.set.n, model_.set.degree, kUsualSide, kUsualSide,
                          {.antialiased = model_.set.antialiased});
  }
  bool keep_inside(const GridBox& box) override {
    if (whole_.n == 0) whole_ = model_.set;
    std::vector<int64_t> inside;
    for (int64_t i = 0; i < whole_.n; ++i) {
      const auto along = [&](int64_t axis) { return whole_.position[size_t(axis * whole_.n + i)]; };
      if (box.holds({along(0), along(1), along(2)})) inside.push_back(i);
    }
    const bool none = inside.empty();
    if (none) inside.push_back(0);  // a set has at least one
    model_.set = gathered(whole_, inside);
    if (none) model_.set.opacity_raw[0] = kTransparent;
    return true;
  }
  int64_t piece_bytes(const BackendChoice&, int64_t) const override { return 0; }
  FieldPictures renderer(const Plan& plan, const BackendChoice& where, int64_t) const override {
    const auto painter = std::make_shared<Painter>(plan, carried_backend(where.backend));
    const float level = model_.placement.black ? 0.0F : 1.0F;
    return {[this, painter, level](const Camera& camera) {
              const float background[3] = {level, level, level};
              painter->draw(model_.set, model_.set.degree, camera, background);
              Picture picture = painter->picture();
              if (depth_asked_) painter->add_depth(model_.set, picture);
              return picture;
            },
            [painter]() -> const Profile& { return painter->profile(); }};
  }

 private:
  GaussianModel model_;
  GaussianSet whole_;  // before it was cropped; empty: it was not
};

}  // namespace

Painting painting_of(const GaussianConfig& c) {
  return {.antialiased = c.antialias == "yes", .pull = c.density_gradient == "absolute"};
}

SplatOptions splat_options(const GaussianConfig& c) {
  SplatOptions o;
  o.density.most = std::max(c.most, c.budget);
  o.initial = std::min(c.initial, o.density.most);
  o.degree = int(c.sh_degree);
  o.ssim = c.ssim;
  o.position_rate = c.position_rate;
  o.last_position_rate = c.last_position_rate;
  o.scale_rate = c.scale_rate;
  o.rotation_rate = c.rotation_rate;
  o.opacity_rate = c.opacity_rate;
  o.color_rate = c.color_rate;
  o.exposure_rate = c.exposure_rate;
  o.background = c.background;
  o.density.threshold = c.threshold;
  o.density.budget = c.budget;
  o.density.absolute = painting_of(c).pull;
  o.antialiased = painting_of(c).antialiased;
  return o;
}

std::vector<PlannedCall> gaussian_calls(const GaussianConfig& c) {
  const SplatOptions o = splat_options(c);
  const int64_t usual = std::max(o.initial, std::min(o.density.most, int64_t{50000}));
  return splat_training_calls(usual, int(c.sh_degree), kUsualSide, kUsualSide, painting_of(c));
}

int64_t gaussian_bytes(const GaussianConfig& c, const Scene& scene) {
  // Parameters, gradients, three numbers of Adam's, and the new set while Gaussians are added; what a picture of them takes; and the
  // picture itself.
  constexpr int64_t kCopies = 6, kOfAPicture = 300, kOfAPixel = 80;
  const int64_t each = GaussianSet::zeros(1, int(c.sh_degree)).bytes();
  return splat_options(c).density.most * (kCopies * each + kOfAPicture) +
         with_views(scene).train.front().pixels() * kOfAPixel;
}

std::unique_ptr<FieldModel> field_model(GaussianModel model) {
  return std::make_unique<GaussianField>(std::move(model));
}

GaussianTrainer::GaussianTrainer(const Scene& scene, const GaussianConfig& config, const Plan& plan,
                                 uint64_t seed, const Backend& backend)
    : scene_(with_views(scene)),
      config_(config),
      plan_(plan),
      seed_(seed),
      backend_(carried_backend(backend)),
      trainer_(std::make_unique<SplatTrainer>(scene, splat_options(config), plan, seed,
                                              std::optional<GaussianSet>(), backend_)) {
  count_memory();
}

StepReport GaussianTrainer::step(double progress) {
  trainer_->scale_rates(rate_factor_);
  trainer_->step(std::min(progress, 1.0));
  StepReport report;
  if (std::exchange(measures_gradient_, false))
    report.gradient_norm = report.clipped_norm = trainer_->gradient_norm();
  report.step = trainer_->steps_done();
  report.rays = int64_t(trainer_->painter().transmittance().size());
  report.samples = trainer_->set().n;
  report.marched = trainer_->painter().entries();
  count_memory();
  return report;
}

void GaussianTrainer::count_memory() {
  const SplatTrainer::Held held = trainer_->held();
  counted_.set(held.most);
  counted_.set(held.now);
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
  trainer_ = std::make_unique<SplatTrainer>(scene_, splat_options(config_), plan_, seed_,
                                            GaussianModel::read(file).set, backend_);
  trainer_->restore_state(file, state, where);
  count_memory();
}

}  // namespace klab
