// Paths of cameras for films: through the cameras of a scene, or from a file in nerfstudio's form.
#pragma once

#include <filesystem>
#include <vector>

#include "labs/radiance/scene/scene.h"

namespace klab {

/// Returns whether the cameras stand all around the middle of the scene's box: no gap between their directions from it,
/// seen from above, is wider than 150 degrees. A circle then shows what was photographed.
bool cameras_surround(const Scene& scene);

/// Returns `frames` cameras along a smoothed spline through all cameras of the scene, at even distances. They follow
/// each other by name if that way is not much longer than a short tour, else by that tour. All have the lens of the
/// first view, without distortion, and `longer` pixels along the longer side. Throws std::invalid_argument for a scene
/// without cameras.
std::vector<Camera> path_through_cameras(const Scene& scene, int frames, int longer);

struct CameraPath {
  std::vector<Camera> cameras;  // in the grid
  double frames_per_second = 30;
};

/// Reads a path as nerfstudio's viewer exports it: "camera_path", a list of objects with "camera_to_world" (16 numbers,
/// row by row, or 4 rows) and "fov" (of the vertical, degrees); "render_width", "render_height", "fps". Poses are in
/// the world of the scene's file. `longer` above 0 replaces the number of pixels along the longer side. Throws Refused.
CameraPath read_camera_path(const std::filesystem::path& file, const Scene& scene, int longer = 0);

/// Writes a path that read_camera_path() reads: cameras of one size whose pixels are square and whose center is the
/// picture's. Throws FileError.
void save_camera_path(const std::filesystem::path& file, const CameraPath& path, const Scene& scene);

}  // namespace klab
