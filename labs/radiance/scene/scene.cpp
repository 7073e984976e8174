#include "labs/radiance/scene/scene.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>

#include "harness/records/memory_left.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/colmap_model.h"

namespace klab {
namespace {

bool has_transforms(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / "transforms_train.json", ignored) ||
         std::filesystem::exists(folder / "transforms.json", ignored);
}

}  // namespace

Image View::picture() const {
  if (!source || !image.rgba.empty()) return image;
  return source->read();
}

void load_pictures(std::vector<View>& views, const std::function<void(size_t, size_t)>& progress) {
  int64_t stays = 0, largest = 0;
  for (const View& v : views) {
    if (!v.source || !v.image.rgba.empty()) continue;
    stays += 4 * v.pixels();
    largest = std::max(largest, v.source->bytes_to_read - 4 * v.pixels());
  }
  require_memory(stays + largest * std::min<int64_t>(omp_get_max_threads(), int64_t(views.size())),
                 "reading the pictures", "use --downscale, or fewer pictures");
  std::vector<std::exception_ptr> errors(views.size());
  std::mutex one_at_a_time;
  size_t done = 0;
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < views.size(); ++i) {
    try {
      views[i].image = views[i].picture();
      const std::scoped_lock lock(one_at_a_time);
      if (progress) progress(++done, views.size());
    } catch (...) {
      errors[i] = std::current_exception();  // an exception must not leave a parallel region
    }
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

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
    throw Refused(
        what, "scene", "no such folder or file for a scene",
        "name a folder with transforms.json or a COLMAP model, or built-in, which klab makes itself");
  else if (error)
    throw Refused(what, "scene", "the scene cannot be opened: " + error.message(), "make it readable");
  else if (status.type() == std::filesystem::file_type::directory && !has_transforms(path))
    if (const auto model = colmap_folder(path)) return read_colmap_scene(path, *model, options);
  return read_transforms(path, options);
}

int64_t bytes_of(const Scene& scene) {
  int64_t total = 0;
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& view : *set) total += 4 * view.pixels() + int64_t(view.depth.size() * sizeof(float));
  return total;
}

}  // namespace klab
