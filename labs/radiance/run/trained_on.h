// What scene a model was trained on, and whether another one is meant.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "labs/radiance/field/placement.h"
#include "labs/radiance/run/state.h"

namespace klab {

/// Returns the run that a model's file belongs to, by the checkpoint next to it; nothing if there is none that can be
/// read.
std::optional<RunState> run_of_model(const std::filesystem::path& model);

/// Returns the path of the scene that a model was trained on, if it is still there.
std::optional<std::string> scene_of_model(const std::filesystem::path& model);

/// Returns a scene's cameras and its place, without its pictures.
Scene cameras_of_scene(const std::string& scene, uint64_t seed);

/// Returns the scene whose world a model lies in: the one that was named, else the one that its run was trained on, else a
/// scene without cameras in the place that a .ply names. Nothing if none is known.
std::optional<Scene> world_of_model(const std::filesystem::path& model, const std::string& named,
                                    uint64_t seed);

/// Returns notes for scores of a model on a scene that it was not trained on, or whose views for testing may have
/// been for training: by the checkpoint next to the model, and by where the model lies in the world. `origin` is that of
/// the model's world, if its file says so.
std::vector<std::string> notes_on_other_scene(const std::filesystem::path& model, const Placement& placement,
                                              const std::string& given, const Scene& scene, int holdout,
                                              const std::optional<WorldPosition>& origin = {});

}  // namespace klab
