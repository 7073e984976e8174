// Writes a scene as a folder that load_scene() reads, in Blender's form.
#pragma once

#include <filesystem>

#include "labs/radiance/scene/scene.h"

namespace klab {

/// Writes transforms_train.json, transforms_test.json and a PNG for each view. The scene must have its pictures in memory,
/// lie in the unit cube, and its cameras be pinholes. Throws FileError.
void save_scene(const std::filesystem::path& folder, const Scene& scene);

}  // namespace klab
