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
  uint32_t id = 0;      // by which points name it
  uint32_t camera = 0;  // a key of ColmapModel::cameras
  // Camera to world as in Camera, without the position; COLMAP's own axes are x right, y down, z forward.
  std::array<float, 12> pose{};
  WorldPosition at{};  // position in the file's own world
};

struct ColmapModel {
  std::filesystem::path folder;
  bool binary = false;
  std::map<uint32_t, ColmapCamera> cameras;
  std::vector<ColmapImage> images;  // by name
  int without_points = 0;           // images of a text file that have no line of points
  std::optional<PointCloud> cloud;  // relative to the origin of the images; empty if the file is missing
  std::filesystem::path images_file() const { return folder / (binary ? "images.bin" : "images.txt"); }
  std::filesystem::path cameras_file() const { return folder / (binary ? "cameras.bin" : "cameras.txt"); }
  /// Returns the origin of the images' positions; see origin_of().
  WorldPosition origin() const;
};

/// Finds the model for `folder`: in the folder itself, in sparse, in sparse/0 or in colmap/sparse/0, the
/// first with a file cameras.bin or cameras.txt.
std::optional<std::filesystem::path> colmap_folder(const std::filesystem::path& folder);

/// Reads the binary files if cameras.bin exists, else the text. Throws Refused for a missing file (except points) or
/// one that is cut, counts that contradict the file's size, an unsupported lens (the message names it and the
/// supported ones), a number that is not finite or out of range, an image without its camera, two cameras with one
/// number, or no image at all.
ColmapModel read_colmap(const std::filesystem::path& folder);

/// Where a record lies: "line 3", "image 7", a word of the message.
struct ColmapRecord {
  const std::filesystem::path& file;
  std::string name;
};

/// Adds one line or record, in either form.
void add_colmap_camera(ColmapModel& model, uint32_t number, const LensModel& lens, double width,
                       double height, std::span<const double> parameters, const ColmapRecord& record);
/// Adds an image; `rotation` (w first, any length except 0) and `translation` map the world to the camera.
void add_colmap_image(ColmapModel& model, const std::array<double, 4>& rotation,
                      const std::array<double, 3>& translation, uint32_t camera, std::string name,
                      const ColmapRecord& record);

/// Sorts the images by name. Throws Refused if there is none, or one twice.
void sort_colmap_images(ColmapModel& model);

/// Read the three files of a form in the model's folder; points are read if their file exists.
void read_colmap_text(ColmapModel& model);
void read_colmap_binary(ColmapModel& model);

}  // namespace klab
