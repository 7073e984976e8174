#include "labs/radiance/scene/scene.h"

#include <stdexcept>

#include "labs/radiance/scene/colmap_model.h"

namespace klab {
namespace {

bool has_transforms(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / "transforms_train.json", ignored) ||
         std::filesystem::exists(folder / "transforms.json", ignored);
}

}  // namespace

Scene load_scene(const std::string& what, const SceneOptions& options) {
  if (options.downscale < 1) throw std::invalid_argument("--downscale must be 1 or more");
  if (options.holdout < 0 || options.holdout == 1)
    throw std::invalid_argument(
        "--holdout must be 0 (none) or at least 2: with 1 every view would be for testing");
  if (what == "built-in") return built_in_scene(options);
  const std::filesystem::path path = what;
  std::error_code error;
  if (const auto status = std::filesystem::status(path, error);
      status.type() == std::filesystem::file_type::not_found)
    throw std::runtime_error(what +
                             ": no such folder or file (for the scene that klab makes itself: built-in)");
  else if (error)
    throw std::runtime_error(what + ": cannot be looked at: " + error.message());
  else if (status.type() == std::filesystem::file_type::directory && !has_transforms(path))
    if (const auto model = colmap_folder(path)) return read_colmap_scene(path, *model, options);
  return read_transforms(path, options);
}

int64_t bytes_of(const Scene& scene) {
  int64_t total = 0;
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& view : *set)
      total += int64_t(view.image.rgba.size() + view.depth.size() * sizeof(float));
  return total;
}

}  // namespace klab
