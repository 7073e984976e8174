// A scene: posed pictures for training and for testing, and the box they look at.
//
// Readers turn every format into the same space: the unit cube is the box of interest (or its center, for
// scenes that reach beyond), so nothing downstream knows about scales and offsets.
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

/// Where a picture comes from, and how it becomes what a view shows: decoded, turned, made smaller, resampled, as the scene's
/// options say. Reading it again gives the same pixels.
struct PictureSource {
  std::filesystem::path file;
  std::function<Image()> read;
  int64_t bytes_to_read = 0;  // that reading takes at most, the result among them
};

struct View {
  std::string name;                               // file name, for messages and reports
  Camera camera;                                  // position in grid space; directions as in the world
  Image image;                                    // empty where it is left on the disk, for picture() to read
  std::shared_ptr<const PictureSource> source{};  // null: made by klab, always in memory
  /// Pixels that count, for training and for scores: those that have a ray (see Camera::sees) and that no mask covers. Null: all.
  std::shared_ptr<const std::vector<int32_t>> with_ray{};
  int64_t places_with_ray() const { return with_ray ? int64_t(with_ray->size()) : pixels(); }
  int64_t pixels() const { return int64_t(camera.width) * camera.height; }  // as many as the picture has
  int64_t place_with_ray(int64_t i) const { return with_ray ? (*with_ray)[size_t(i)] : i; }  // of the picture
  std::vector<float> depth;  // [height, width] distance along the ray in grid space; 0 where nothing was hit;
                             // empty when unknown
  /// A copy of the picture, read now if it is on the disk. Throws as load_image, and when it has changed its size.
  Image picture() const;
};

struct Scene {
  std::string name;
  std::string
      format;  // "Blender" | "instant-ngp" | "nerfstudio" | "COLMAP, text" | "COLMAP, binary" | "built in"
  std::vector<View> train;
  std::vector<View> test;  // never trained on
  int cascades = 1;        // the volume is a cube of side 2^(cascades-1) around (.5,.5,.5)
  float scale = 1;         // grid = scale * turn * world + offset
  std::array<float, 9> turn{1, 0, 0, 0, 1, 0, 0, 0, 1};  // a rotation, row by row
  Vec3 offset{};
  float near = 0;                  // where rays start, grid units
  std::vector<std::string> notes;  // what was skipped or looks odd, for the user to read
  std::vector<ScenePoint>
      points;  // in grid space; what structure from motion found, where the scene came with it
  std::vector<std::string> lenses;  // each camera model with its numbers, and how many pictures are of it
  int masks = 0;                    // views that have one

  /// Where a point of the grid lies in the file's own world.
  Vec3 world_of(Vec3 grid) const {
    const Vec3 v = (1 / scale) * (grid - offset);  // the turn is undone by its transposed
    const auto column = [&](size_t k) { return turn[k] * v.x + turn[3 + k] * v.y + turn[6 + k] * v.z; };
    return {column(0), column(1), column(2)};
  }
  float side() const { return float(1 << (cascades - 1)); }
  /// Whether each picture for training may be read from the disk again when its turn comes.
  bool on_the_disk() const {
    return std::ranges::all_of(train, [](const View& v) { return v.source != nullptr; });
  }
  bool has_alpha() const { return !train.empty() && train.front().image.has_alpha; }
};

struct SceneOptions {
  int downscale = 1;
  int holdout = 8;    // formats without a test set: every holdout-th view is for testing; 0: none
  uint64_t seed = 1;  // of the built-in scene
  /// Told what was understood (views, size, focal length, box, memory) before any picture is decoded.
  std::function<void(const std::string&)> say;
  /// Told how many of the pictures are decoded, by one thread at a time.
  std::function<void(size_t done, size_t all)> progress = nullptr;
  bool pinhole = false;  // resample pictures of lenses that bend, so that all cameras are pinholes
  /// What becomes of pictures. On the disk they are left for View::picture() or load_pictures() to read; lenses and masks are
  /// looked at all the same. With none, views have cameras only, and masks are not looked at.
  enum class Pictures { decoded, on_disk, none } pictures = Pictures::decoded;
};

/// Reads a folder (with transforms files or a COLMAP model) or one transforms JSON, or makes the scene called "built-in".
/// Throws std::runtime_error naming file, field and remedy.
Scene load_scene(const std::string& what, const SceneOptions& options);

/// The reader of transforms*.json in Blender's, instant-ngp's and nerfstudio's form.
Scene read_transforms(const std::filesystem::path& path, const SceneOptions& options);

/// The reader of COLMAP models: `model` is the folder of its files, `folder` the scene's, where the pictures are looked for.
Scene read_colmap_scene(const std::filesystem::path& folder, const std::filesystem::path& model,
                        const SceneOptions& options);

/// A seeded, textured and glossy set of objects over a checkered disk, with exact depth. White background.
Scene built_in_scene(const SceneOptions& options);

/// Reads the pictures that were left on the disk, several at a time; `progress` as in SceneOptions. Throws std::runtime_error
/// naming the first that cannot be read, and when memory is short.
void load_pictures(std::vector<View>& views,
                   const std::function<void(size_t done, size_t all)>& progress = nullptr);

/// Bytes of the pictures when they are decoded.
int64_t bytes_of(const Scene& scene);

}  // namespace klab
