// A scene: posed pictures for training and for testing, and the box they look at.
//
// Readers turn every format into the same space: the unit cube is the box of interest (or its center, for
// scenes that reach beyond), so nothing downstream knows about scales and offsets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "labs/radiance/scene/camera.h"
#include "labs/radiance/scene/image.h"

namespace klab {

struct View {
  std::string name;  // file name, for messages and reports
  Camera camera;     // position in grid space; directions as in the world
  Image image;       // empty where it is left on the disk (SceneOptions::pictures), for picture() to read
  std::filesystem::path file{};  // it is read from; empty: made by klab, always in memory
  int downscale = 1;             // and made smaller by
  /// Pixels that have a ray, where the lens leaves some without; see Camera::sees. Null: all have.
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
  std::string format;  // "Blender" | "instant-ngp" | "built in"
  std::vector<View> train;
  std::vector<View> test;  // never trained on
  int cascades = 1;        // the volume is a cube of side 2^(cascades-1) around (.5,.5,.5)
  float scale = 1;         // grid = world * scale + offset
  Vec3 offset{};
  float near = 0;                  // where rays start, grid units
  std::vector<std::string> notes;  // what was skipped or looks odd, for the user to read

  float side() const { return float(1 << (cascades - 1)); }
  bool has_alpha() const { return !train.empty() && train.front().image.has_alpha; }
};

struct SceneOptions {
  int downscale = 1;
  int holdout = 8;    // formats without a test set: every holdout-th view is for testing; 0: none
  uint64_t seed = 1;  // of the built-in scene
  /// false: pictures stay on the disk, only their sizes are read; load_pictures() reads them later.
  bool pictures = true;
  /// Told what was understood (views, size, focal length, box, memory) before any picture is decoded.
  std::function<void(const std::string&)> say;
};

/// Reads a folder (or one transforms JSON), or makes the scene called "built-in". Throws std::runtime_error
/// naming file, field and remedy.
Scene load_scene(const std::string& what, const SceneOptions& options);

/// Reads the pictures that were left on the disk, several at a time. Throws std::runtime_error naming the first that cannot be
/// read, and when memory is short.
void load_pictures(std::vector<View>& views);

/// The reader of transforms*.json in Blender's and instant-ngp's form.
Scene read_transforms(const std::filesystem::path& path, const SceneOptions& options);

/// A seeded, textured and glossy set of objects over a checkered disk, with exact depth. White background.
Scene built_in_scene(const SceneOptions& options);

/// Bytes of the decoded pictures.
int64_t bytes_of(const Scene& scene);

}  // namespace klab
