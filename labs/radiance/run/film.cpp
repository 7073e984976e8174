#include "labs/radiance/run/film.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "harness/records/refused.h"

namespace klab {
namespace {

std::vector<Camera> circle(const FilmOptions& o, int frames) {
  std::vector<Camera> cameras;
  for (int i = 0; i < frames; ++i) {
    const double angle = 2 * M_PI * i / frames;
    const double ring = std::sqrt(std::max(0.0, 1 - o.height * o.height));
    const Vec3 target{0.5F, 0.5F, 0.4F};
    const Vec3 direction{float(ring * std::cos(angle)), float(ring * std::sin(angle)), float(o.height)};
    cameras.push_back(
        look_at(target + float(o.distance) * direction, target, o.size, o.size, float(o.fov * M_PI / 180)));
  }
  return cameras;
}

}  // namespace

Film film_of(const FilmOptions& o, const std::function<std::optional<Scene>()>& world) {
  const bool from_file = !o.path.empty() && o.path != "circle" && o.path != "cameras";
  constexpr int kFrames = 120;
  const int frames = o.orbit > 0 ? o.orbit : o.path.empty() ? 1 : kFrames;
  if (o.path == "circle" || (o.path.empty() && frames == 1))
    return {.cameras = circle(o, frames), .said = ""};
  std::error_code ignored;
  if (from_file && !std::filesystem::exists(o.path, ignored))
    throw Refused(o.path, "--path", "no such file for --path",
                  "name a camera path in JSON, or say cameras or circle");
  const std::optional<Scene> scene = world();
  if (from_file) {
    if (!scene)
      throw std::runtime_error(
          fmt::format("--path {}: nothing says in which world the model lies: give the scene it was trained "
                      "on, --scene DIR",
                      o.path));
    const CameraPath path = read_camera_path(o.path, *scene, o.sized ? o.size : 0);
    return {.cameras = path.cameras, .name = "path", .said = "", .frames_per_second = path.frames_per_second};
  }
  const bool has_cameras = scene && !scene->train.empty();
  if (o.path == "cameras" && !has_cameras)
    throw std::runtime_error("--path cameras: the model's scene is not known: give it, --scene DIR");
  if (o.path.empty() && (!has_cameras || cameras_surround(*scene)))
    return {.cameras = circle(o, frames), .said = ""};
  Film film{.cameras = path_through_cameras(*scene, frames, o.size), .name = "path", .said = ""};
  if (o.path.empty())
    film.said =
        "path      the scene's cameras do not stand around it: the pictures follow them (--path circle for a "
        "circle)";
  return film;
}

}  // namespace klab
