// A scene: posed pictures for training and for testing, and the box that they show.
//
// Readers convert every format to the same space: the unit cube is the box of interest (or its center, for
// scenes that reach beyond), so that later stages need no scales and offsets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "labs/radiance/scene/camera.h"
#include "labs/radiance/scene/image.h"
#include "labs/radiance/scene/points.h"

namespace klab {

/// The origin of a picture, and the steps to the view's pixels: decode, turn, reduce, resample, according to
/// the scene's options. Reading it again gives the same pixels.
struct PictureSource {
  std::filesystem::path file;
  std::function<Image()> read;
  int64_t bytes_to_read = 0;  // largest memory for reading, including the result
};

struct View {
  std::string name;                               // file name, for messages and reports
  Camera camera;                                  // position in grid space; directions as in the world
  Image image;                                    // empty if it is left on the disk, for picture() to read
  std::shared_ptr<const PictureSource> source{};  // null: made by klab, always in memory
  /// Pixels that count for training and scores: those that have a ray (see Camera::sees) and are not masked.
  /// Null: all.
  std::shared_ptr<const std::vector<int32_t>> with_ray{};
  int64_t places_with_ray() const { return with_ray ? int64_t(with_ray->size()) : pixels(); }
  int64_t pixels() const { return int64_t(camera.width) * camera.height; }                   // of the picture
  int64_t place_with_ray(int64_t i) const { return with_ray ? (*with_ray)[size_t(i)] : i; }  // of the picture
  // [height, width] distance along the ray in grid space; 0 if nothing was hit; empty if unknown
  std::vector<float> depth;
  /// Returns a copy of the picture, read now if it is on the disk. Throws like load_image, and if the file
  /// has changed its size.
  Image picture() const;
};

struct Scene {
  std::string name;
  std::string
      format;  // "Blender" | "instant-ngp" | "nerfstudio" | "COLMAP, text" | "COLMAP, binary" | "built in"
  std::vector<View> train;
  std::vector<View> test;  // never used for training
  int cascades = 1;        // the volume is a cube of side 2^(cascades-1) around (.5,.5,.5)
  float scale = 1;         // grid = scale * turn * (world - origin) + offset
  std::array<float, 9> turn{1, 0, 0, 0, 1, 0, 0, 0, 1};  // a rotation, row by row
  Vec3 offset{};
  WorldPosition origin{};           // zero unless the world's coordinates are far from it; see origin_of()
  float near = 0;                   // where rays start, grid units
  std::vector<std::string> notes;   // skipped files and suspicious facts, for the user
  std::vector<ScenePoint> points;   // in grid space; from structure from motion, if the scene has them
  std::vector<std::string> lenses;  // each camera model with its numbers, and the number of its pictures
  int masks = 0;                    // views with a mask
  /// What transparent pixels are put on while a field is trained that leaves this to the scene: "white", "black" or
  /// "random", a color drawn for each step.
  std::string background = "white";

  /// Converts a point of the grid to the file's own world, relative to the origin.
  Vec3 world_of(Vec3 grid) const {
    const Vec3 v = (1 / scale) * (grid - offset);  // the transposed turn is its inverse
    const auto column = [&](size_t k) { return turn[k] * v.x + turn[3 + k] * v.y + turn[6 + k] * v.z; };
    return {column(0), column(1), column(2)};
  }
  /// Converts a point of the grid to the file's own world.
  WorldPosition position_of(Vec3 grid) const {
    const Vec3 v = world_of(grid);
    return {origin[0] + v.x, origin[1] + v.y, origin[2] + v.z};
  }
  bool far_away() const { return origin != WorldPosition{}; }
  float side() const { return float(1 << (cascades - 1)); }
  /// Returns whether every training picture can be read from the disk again.
  bool on_the_disk() const {
    return std::ranges::all_of(train, [](const View& v) { return v.source != nullptr; });
  }
  bool has_alpha() const { return !train.empty() && train.front().image.has_alpha; }
};

struct SceneOptions {
  int downscale = 1;
  int holdout = 8;    // for formats without a test set: every holdout-th view is for testing; 0: none
  uint64_t seed = 1;  // for the built-in scene
  /// Called with the result of reading the files (views, size, focal length, box, memory) before any picture
  /// is decoded.
  std::function<void(const std::string&)> say;
  /// Called with the number of decoded pictures, by one thread at a time.
  std::function<void(size_t done, size_t all)> progress = nullptr;
  bool depth = false;    // read measured depth into View::depth, where the scene has some
  bool pinhole = false;  // resample pictures of distorting lenses, so that all cameras are pinholes
  /// Handling of pictures. With on_disk, View::picture() or load_pictures() reads them later; lenses and
  /// masks are read anyway. With none, views have cameras only, and masks are not read.
  enum class Pictures { decoded, on_disk, none } pictures = Pictures::decoded;
};

/// Reads a folder (with transforms files or a COLMAP model) or one transforms JSON, or makes the scene called
/// "built-in". Throws Refused for files that cannot be read, std::runtime_error for lack of memory.
Scene load_scene(const std::string& what, const SceneOptions& options);

/// Reads transforms*.json in the form of Blender, instant-ngp or nerfstudio.
Scene read_transforms(const std::filesystem::path& path, const SceneOptions& options);

/// Reads COLMAP models: `model` is the folder of its files, `folder` that of the scene, where pictures are
/// searched.
Scene read_colmap_scene(const std::filesystem::path& folder, const std::filesystem::path& model,
                        const SceneOptions& options);

/// Makes a seeded, textured and glossy set of objects over a checkered disk, with exact depth. White
/// background.
Scene built_in_scene(const SceneOptions& options);

/// Reads the pictures that were left on the disk, several at a time; `progress` as in SceneOptions. Throws
/// std::runtime_error naming the first that cannot be read, and if memory is short.
void load_pictures(std::vector<View>& views,
                   const std::function<void(size_t done, size_t all)>& progress = nullptr);

/// Returns the bytes of the decoded pictures.
int64_t bytes_of(const Scene& scene);

}  // namespace klab
