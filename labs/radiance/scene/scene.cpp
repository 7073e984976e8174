#include "labs/radiance/scene/scene.h"

#include <omp.h>

#include <algorithm>
#include <stdexcept>

#include "harness/records/memory_left.h"

namespace klab {

Image View::picture() const {
  if (file.empty() || !image.rgba.empty()) return image;
  Image read = klab::downscale(load_image(file), downscale);
  if (read.width != camera.width || read.height != camera.height)
    throw std::runtime_error("image " + file.string() + ": was " + std::to_string(camera.width) + "x" +
                             std::to_string(camera.height) + " and now is " + std::to_string(read.width) +
                             "x" + std::to_string(read.height) +
                             ": it was replaced meanwhile; start anew with what is there");
  return read;
}

void load_pictures(std::vector<View>& views) {
  int64_t stays = 0, largest = 0;
  for (const View& v : views) {
    if (v.file.empty() || !v.image.rgba.empty()) continue;
    stays += 4 * v.pixels();
    // While it is decoded: whole, with its file and its rows.
    if (v.downscale > 1) largest = std::max(largest, 6 * v.pixels() * v.downscale * v.downscale);
  }
  require_memory(stays + largest * std::min<int64_t>(omp_get_max_threads(), int64_t(views.size())),
                 "reading the pictures", "use --downscale, or fewer pictures");
  std::vector<std::string> errors(views.size());
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < views.size(); ++i) {
    try {
      views[i].image = views[i].picture();
    } catch (const std::exception& e) {
      errors[i] = e.what();  // an exception must not leave a parallel region
    }
  }
  for (const std::string& error : errors)
    if (!error.empty()) throw std::runtime_error(error);
}

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
