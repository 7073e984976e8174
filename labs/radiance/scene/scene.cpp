#include "labs/radiance/scene/scene.h"

#include <stdexcept>

namespace klab {

Scene load_scene(const std::string& what, const SceneOptions& options) {
  if (options.downscale < 1) throw std::invalid_argument("--downscale must be 1 or more");
  if (options.holdout < 0 || options.holdout == 1)
    throw std::invalid_argument(
        "--holdout must be 0 (none) or at least 2: with 1 every view would be for testing");
  if (what == "built-in") return built_in_scene(options);
  return read_transforms(what, options);
}

int64_t bytes_of(const Scene& scene) {
  int64_t total = 0;
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& view : *set)
      total += int64_t(view.image.rgba.size() + view.depth.size() * sizeof(float));
  return total;
}

}  // namespace klab
