// The cameras of a film: around a model, along the cameras of its scene, or those of a file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "labs/radiance/scene/camera_path.h"

namespace klab {

struct FilmOptions {
  std::string path;        // "circle", "cameras", a file, or empty: what suits the scene
  int orbit = 0;           // pictures; 0: one, or with a path 120
  int size = 400;          // pixels of the longer side
  bool sized = false;      // the size was given, and replaces that of a file
  double height = 0.5;     // of the camera: sine of its elevation
  double distance = 1.35;  // from the center, in sides of the unit cube
  double fov = 40;         // horizontal, degrees
};

/// The cameras of a film, and how they were chosen.
struct Film {
  std::vector<Camera> cameras;
  std::string name = "orbit", said;
  double frames_per_second = 30;
};

/// Chooses the cameras: a file's, those along the scene's own where they were asked for or where they do not surround
/// the scene, else a circle. `world` returns the scene that the model lies in, if it is known. Throws std::runtime_error naming
/// --path if that scene is needed and not known, and what read_camera_path() throws.
Film film_of(const FilmOptions& options, const std::function<std::optional<Scene>()>& world);

}  // namespace klab
