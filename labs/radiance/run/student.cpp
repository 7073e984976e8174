#include "labs/radiance/run/student.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "harness/records/memory_left.h"
#include "harness/report/table.h"
#include "labs/radiance/run/settings_matrix.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/train/frequency_trainer.h"

namespace klab {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Returns the bytes of a field's learned numbers, at most.
int64_t learned_bytes(const FieldSettings& s, int cascades) {
  if (s.field != "hash") return model_bytes(s, cascades);
  return 4 * (table_room(s.hash, cascades) * s.hash.features + density_shape(s.hash, 0).weights() +
              color_shape(s.hash, 0).weights());
}

/// Returns the color in front of the background that shows through.
uint8_t color_alone(float shown, float opacity, bool black) {
  if (opacity <= 0) return 0;
  return to_byte((shown - (black ? 0 : 1 - opacity)) / opacity);
}

}  // namespace

FieldSettings settings_of(const FieldModel& model) {
  FieldSettings s;
  s.field = model.field();
  if (const Model* hash = model.as_hash()) s.hash = hash->config;
  if (const VoxelModel* voxels = model.as_voxels()) s.voxels = voxels->config;
  if (const FrequencyModel* frequency = model.as_frequency()) s.frequency = frequency->config;
  if (const GaussianModel* gaussians = model.as_gaussians()) s.gaussians = gaussians->config;
  return s;
}

FieldSettings student_settings(const FieldModel& teacher, const std::vector<std::string>& values) {
  const FieldSettings own = settings_of(teacher);
  std::vector<std::string> set;
  for (const std::string& value : values) set.push_back(is_number(value) ? "width=" + value : value);
  FieldSettings student =
      field_settings(own.field, with_values(to_json_text(own), "--distill", set), "--distill");
  const int cascades = teacher.placement().cascades;
  const int64_t mine = learned_bytes(student, cascades), teachers = learned_bytes(own, cascades);
  if (mine >= teachers)
    throw std::invalid_argument(fmt::format(
        "--distill: the student may take {} bytes and its teacher {}: name a smaller width, fewer "
        "levels, or another setting of its size",
        mine, teachers));
  return student;
}

Scene as_seen_by(const std::function<Picture(const Camera&)>& render, bool black, Scene scene) {
  Progress progress;
  for (size_t v = 0; v < scene.train.size() && !stop_requested; ++v) {
    progress.show(fmt::format("teacher   {} of {} pictures", v + 1, scene.train.size()));
    View& view = scene.train[v];
    const Picture picture = render(view.camera);
    Image& image = view.image;
    image.width = picture.width, image.height = picture.height;
    image.rgba.resize(4 * picture.opacity.size());
    for (size_t i = 0; i < picture.opacity.size(); ++i) {
      const float opacity = image.has_alpha ? picture.opacity[i] : 1;
      for (size_t c = 0; c < 3; ++c)
        image.rgba[4 * i + c] = color_alone(picture.rgb[3 * i + c], opacity, black);
      image.rgba[4 * i + 3] = to_byte(opacity);
    }
  }
  return scene;
}

std::unique_ptr<FieldModel> learn(const FieldSettings& settings, const Scene& scene, const Plan& plan,
                                  uint64_t seed, int64_t steps) {
  const BackendChoice place = backend_named("cpu");
  require_memory(trainer_bytes(settings, scene, place), "the student's trainer", remedy_of(settings));
  const auto trainer = make_trainer(settings, scene, plan, seed, place);
  Progress progress;
  for (int64_t step = 0; step < steps; ++step) {
    if (stop_requested) return nullptr;
    trainer->step(double(step) / double(steps));
    if (step % 16 == 0) progress.show(fmt::format("student   step {} of {}", step, steps));
  }
  return trained_model(settings, *trainer);
}

std::unique_ptr<FieldModel> retrain(const FieldModel& pruned, const Scene& scene, const Plan& plan,
                                    uint64_t seed, int64_t steps) {
  constexpr double kRates = 0.1;  // of the training's: the field has learned already
  const FieldSettings settings = settings_of(pruned);
  const Model* hash = pruned.as_hash();
  const FrequencyModel* frequency = pruned.as_frequency();
  if (hash == nullptr && frequency == nullptr)
    throw std::invalid_argument("--retrain does not apply to a field of " + pruned.field() +
                                ": nothing of it is left out by --prune");
  if (hash != nullptr && hash->config.table == "adaptive")
    throw std::invalid_argument(
        "--retrain does not apply to an adaptive table, whose levels change while it trains: leave it out");
  const BackendChoice place = backend_named("cpu");
  require_memory(trainer_bytes(settings, scene, place), "training what is left", remedy_of(settings));
  const auto trainer = make_trainer(settings, scene, plan, seed, place);
  trainer->scale_rates(kRates);
  const auto keep_zeros = [&](const FrequencyModel& model) {
    const std::vector<TensorView> from = frequency->tensors(), to = model.tensors();
    for (size_t t = 0; t < to.size(); ++t) {
      if (to[t].shape.size() != 2) continue;
      const float* kept = static_cast<const float*>(from[t].data);
      float* own = static_cast<float*>(const_cast<void*>(to[t].data));
      for (int64_t i = 0; i < to[t].shape[0] * to[t].shape[1]; ++i)
        if (kept[i] == 0) own[i] = 0;
    }
  };
  if (hash != nullptr)
    static_cast<Trainer&>(*trainer).begin_from(*hash);
  else
    static_cast<FrequencyTrainer&>(*trainer).begin_from(*frequency);
  Progress progress;
  for (int64_t step = 0; step < steps; ++step) {
    if (stop_requested) return nullptr;
    trainer->step(double(step) / double(steps));
    if (hash != nullptr)
      static_cast<Trainer&>(*trainer).keep_zeros_of(*hash);
    else
      keep_zeros(static_cast<FrequencyTrainer&>(*trainer).model());
    if (step % 16 == 0) progress.show(fmt::format("retrain   step {} of {}", step, steps));
  }
  std::unique_ptr<FieldModel> model = trained_model(settings, *trainer);
  if (hash == nullptr) return model;
  // Averages have numbers of within a step.
  const Model* averaged = model->as_hash();
  for (const Part part : kParts)
    for (int64_t i = 0; i < averaged->of(part).size(); ++i)
      if (hash->of(part)[i] == 0) averaged->of(part)[i] = 0;
  return model;
}

}  // namespace klab
