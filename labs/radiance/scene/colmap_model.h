// A model that COLMAP (Schönberger and Frahm, "Structure-from-motion revisited", 2016) wrote: cameras, images, points, as text
// or binary. What the files hold; scene_colmap.cpp makes a scene of it.
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
  Lens lens;  // at the size that the file says
};

struct ColmapImage {
  std::string name;     // path of the picture below the folder of pictures
  uint32_t camera = 0;  // a key of ColmapModel::cameras
  std::array<float, 12>
      pose{};  // camera to world as Camera has it: COLMAP's own has x right, y down, z forward
};

struct ColmapModel {
  bool binary = false;
  std::map<uint32_t, ColmapCamera> cameras;
  std::vector<ColmapImage> images;  // by name
  std::optional<PointCloud> cloud;  // nothing where the file is missing
};

/// Where a model lies that `folder` means: in itself, in sparse, in sparse/0 or in colmap/sparse/0, the first that holds a
/// file cameras.bin or cameras.txt.
std::optional<std::filesystem::path> colmap_folder(const std::filesystem::path& folder);

/// Reads the binary files where there is cameras.bin, else the text. Throws std::runtime_error, "<file>: <why>": a file that is
/// missing (points may be) or cut, counts that the file's size does not bear out, lenses that are not read (the message
/// names it and those that are), a number that is not finite or not in its range, an image whose camera is not there, two
/// cameras with one number, no image at all.
ColmapModel read_colmap(const std::filesystem::path& folder);

/// What both forms have in common, of one line or record; `where` begins messages.
void add_colmap_camera(ColmapModel& model, uint32_t number, const LensModel& lens, double width,
                       double height, std::span<const double> parameters, const std::string& where);
/// `rotation` w first, world to camera, of any length but 0; `translation` likewise.
void add_colmap_image(ColmapModel& model, const std::array<double, 4>& rotation,
                      const std::array<double, 3>& translation, uint32_t camera, std::string name,
                      const std::string& where);

/// The three files of a form; points are read where the file is there.
void read_colmap_text(const std::filesystem::path& folder, ColmapModel& model);
void read_colmap_binary(const std::filesystem::path& folder, ColmapModel& model);

}  // namespace klab
