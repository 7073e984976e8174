// A model written by COLMAP (Schönberger and Frahm, "Structure-from-motion revisited", 2016): cameras, images
// and points, as text or binary. This is the content of the files; scene_colmap.cpp makes a scene from it.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "labs/radiance/scene/lens_models.h"
#include "labs/radiance/scene/points.h"

namespace klab {

struct ColmapCamera {
  std::string model;
  Lens lens;  // at the size stated in the file
};

struct ColmapImage {
  std::string name;     // path of the picture relative to the folder of pictures
  uint32_t camera = 0;  // a key of ColmapModel::cameras
  std::array<float, 12>
      pose{};  // camera to world as in Camera; COLMAP's own axes are x right, y down, z forward
};

struct ColmapModel {
  bool binary = false;
  std::map<uint32_t, ColmapCamera> cameras;
  std::vector<ColmapImage> images;  // by name
  std::optional<PointCloud> cloud;  // empty if the file is missing
};

/// Finds the model for `folder`: in the folder itself, in sparse, in sparse/0 or in colmap/sparse/0, the
/// first with a file cameras.bin or cameras.txt.
std::optional<std::filesystem::path> colmap_folder(const std::filesystem::path& folder);

/// Reads the binary files if cameras.bin exists, else the text. Throws std::runtime_error, "<file>: <why>",
/// for a missing file (except points) or one that is cut, counts that contradict the file's size, an
/// unsupported lens (the message names it and the supported ones), a number that is not finite or out of
/// range, an image without its camera, two cameras with one number, or no image at all.
ColmapModel read_colmap(const std::filesystem::path& folder);

/// Adds one line or record, in either form; messages begin with `where`.
void add_colmap_camera(ColmapModel& model, uint32_t number, const LensModel& lens, double width,
                       double height, std::span<const double> parameters, const std::string& where);
/// Adds an image; `rotation` (w first, any length except 0) and `translation` map the world to the camera.
void add_colmap_image(ColmapModel& model, const std::array<double, 4>& rotation,
                      const std::array<double, 3>& translation, uint32_t camera, std::string name,
                      const std::string& where);

/// Read the three files of a form; points are read if their file exists.
void read_colmap_text(const std::filesystem::path& folder, ColmapModel& model);
void read_colmap_binary(const std::filesystem::path& folder, ColmapModel& model);

}  // namespace klab
