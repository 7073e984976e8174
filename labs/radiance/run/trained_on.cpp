#include "labs/radiance/run/trained_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "labs/radiance/splat/ply.h"

namespace klab {
namespace {

/// Returns whether two numbers agree but for roundings of a file.
bool agree(float a, float b) { return std::abs(a - b) <= 1e-4F * std::max({1.F, std::abs(a), std::abs(b)}); }

bool lies_where(const Placement& p, const Scene& scene) {
  return p.cascades == scene.cascades && agree(p.scale / scene.scale, 1) &&
         agree(p.offset.x, scene.offset.x) && agree(p.offset.y, scene.offset.y) &&
         agree(p.offset.z, scene.offset.z);
}

}  // namespace

std::optional<RunState> run_of_model(const std::filesystem::path& model) {
  const std::filesystem::path checkpoint = model.parent_path() / "checkpoint.safetensors";
  std::error_code ignored;
  if (model.filename() != "model.safetensors" || !std::filesystem::exists(checkpoint, ignored))
    return std::nullopt;
  try {
    return run_state_in(TensorFile(checkpoint));
  } catch (const std::runtime_error&) {
    return std::nullopt;  // the model itself is what was asked for
  }
}

std::optional<std::string> scene_of_model(const std::filesystem::path& model) {
  const std::optional<RunState> run = run_of_model(model);
  return run ? recorded_scene(*run, model.parent_path()) : std::nullopt;
}

Scene cameras_of_scene(const std::string& scene, uint64_t seed) {
  SceneOptions reading;
  reading.pictures = SceneOptions::Pictures::none;
  reading.seed = seed;
  return load_scene(scene, reading);
}

std::optional<Scene> world_of_model(const std::filesystem::path& model, const std::string& named,
                                    uint64_t seed) {
  if (!named.empty()) return cameras_of_scene(named, seed);
  if (const auto scene = scene_of_model(model)) return cameras_of_scene(*scene, seed);
  if (model.extension() != ".ply") return std::nullopt;
  const auto stored = place_in_ply(model);
  if (!stored) return std::nullopt;
  Scene scene;
  scene.scale = stored->place.scale, scene.offset = stored->place.offset;
  scene.turn = stored->place.turn, scene.origin = stored->place.origin;
  return scene;
}

std::vector<std::string> notes_on_other_scene(const std::filesystem::path& model, const Placement& placement,
                                              const std::string& given, const Scene& scene, int holdout,
                                              const std::optional<WorldPosition>& origin) {
  std::vector<std::string> notes;
  const std::optional<RunState> run = run_of_model(model);
  if (run && !is_scene_of(*run, given)) {
    const std::string name = run->scene.filename().string();
    if (name != scene.name || run->scene == "built-in")
      notes.push_back(
          fmt::format("the model was trained on {}, and this is {}: the score says nothing of the training",
                      run->scene.string(), given));
  } else if (run && scene.format != "Blender" && run->holdout != holdout) {
    notes.push_back(fmt::format(
        "the model was trained with --holdout {}: some of these views were for training", run->holdout));
  }
  if (notes.empty() && (!lies_where(placement, scene) || origin.value_or(scene.origin) != scene.origin))
    notes.push_back(fmt::format(
        "the model was trained in another box than {} has (scale {:.4g} instead of {:.4g}): is it "
        "the model of another scene?",
        given, placement.side() / placement.scale, scene.side() / scene.scale));
  return notes;
}

}  // namespace klab
