// klab's trainer as a library: from pictures with known cameras to a radiance field, its score, and new pictures.
//
//   using namespace klab::radiance;
//   const Scene scene = Scene::load("my_scene");
//   Trainer trainer(scene);
//   trainer.train({.seconds = 60});
//   trainer.field().save("model.safetensors");
//   Renderer renderer(trainer.field());
//   const double psnr = renderer.score(scene).psnr;
//
// A radiance field gives each point of space a density, and for each direction a color (B. Mildenhall et al., "NeRF:
// Representing Scenes as Neural Radiance Fields for View Synthesis", 2020). The default field is a hash table with two small
// networks (T. Müller et al., "Instant Neural Graphics Primitives with a Multiresolution Hash Encoding", 2022).
//
// Units. A scene is turned, moved and scaled so that its box of interest is the cube [0,1]^3. Lengths and positions are in
// sides of that cube. Colors are sRGB-encoded, 0 to 1. Times are in seconds, angles in degrees.
//
// Errors. Every function throws Error, which carries the file, the field and the remedy. Nothing is printed.
//
// Threads. The work is done on the processor by OpenMP's threads. An object may be used by one thread at a time. Scene and
// Field do not change; their copies share the data.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace klab::radiance {

/// Why a call failed; what() says it in one line, with the remedy.
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, std::filesystem::path file, std::string field, std::string remedy)
      : std::runtime_error(message),
        file_(std::move(file)),
        field_(std::move(field)),
        remedy_(std::move(remedy)) {}
  /// The file or folder that was read or written; "built-in" for that scene; empty if there is none.
  const std::filesystem::path& file() const { return file_; }
  /// The setting, the key of the file, or the option of this header ("seconds") that is wrong.
  const std::string& field() const { return field_; }
  /// What to do instead.
  const std::string& remedy() const { return remedy_; }

 private:
  std::filesystem::path file_;
  std::string field_, remedy_;
};

using Point = std::array<float, 3>;

/// A pinhole camera with OpenCV's lens distortion. Lengths in the picture are in pixels: (0,0) is the upper left corner of
/// the upper left pixel, whose center is (0.5, 0.5).
struct Camera {
  int width = 0, height = 0;
  float fx = 0, fy = 0, cx = 0, cy = 0;  // focal lengths, principal point
  float k1 = 0, k2 = 0, p1 = 0, p2 = 0;  // OpenCV's radial and tangential distortion; 0: none
  /// Camera to scene, three rows of [R | t]. It sees along its -z, with +y up (as in OpenGL and Blender).
  std::array<float, 12> pose{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
};

/// Returns a camera at `eye` that points to `target`, with +z up. `field_of_view` is the horizontal one, in degrees from 1
/// to 170; width and height are in pixels.
Camera look_at(const Point& eye, const Point& target, int width, int height, float field_of_view);

/// A picture of a scene, by its name in messages and scores.
struct View {
  std::string name;
  Camera camera;
};

struct SceneOptions {
  int downscale = 1;  // shrink the pictures by this factor, 1 to 64
  int holdout =
      8;  // without a test set in the scene's files: every so many-th view is for testing, from 2 on; 0: none
  uint64_t seed = 1;  // of the built-in scene
  /// Reads measured depth, which the settings "depth" and "depth_l1" learn from: depth maps of transforms JSON, and the points of a
  /// COLMAP model. 4 bytes a pixel more.
  bool depth = false;
};

/// Pictures with known cameras, in memory: 4 bytes a pixel.
class Scene {
 public:
  /// Reads a folder with transforms JSON (of Blender, instant-ngp or nerfstudio) or a COLMAP model, or one such JSON file.
  /// "built-in" is built_in().
  static Scene load(const std::string& folder, const SceneOptions& options = {});
  /// Makes a scene of textured and glossy objects, without reading a file.
  static Scene built_in(const SceneOptions& options = {});

  const std::string& name() const;
  const std::string& format() const;              // "Blender", "COLMAP, text", "built in", ...
  std::vector<View> train_views() const;          // learned from
  std::vector<View> test_views() const;           // scored on, never learned from
  const std::vector<std::string>& notes() const;  // skipped files and suspicious facts

  struct Parts;  // known to klab's sources only, as the next two are for them
  explicit Scene(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  const Parts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const Parts> parts_;
};

/// A trained field.
class Field {
 public:
  /// Reads a model.safetensors that save() or `klab train` wrote.
  static Field load(const std::filesystem::path& file);
  /// Writes a model.safetensors under a temporary name, then renames it. `klab eval` and `klab render` read it.
  void save(const std::filesystem::path& file) const;

  std::string kind() const;  // "hash", "voxels", "frequency" or "gaussians"
  int64_t bytes() const;     // of its parameters

  struct Parts;  // as in Scene
  explicit Field(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  const Parts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const Parts> parts_;
};

struct TrainerOptions {
  std::string field = "hash";  // how the scene is held: "hash", "voxels", "frequency" or "gaussians"
  /// A JSON file with numbers of the recipe, as `klab train --config` takes it (labs/radiance/field/config.h lists them with
  /// their defaults, limits and sources). Empty: the defaults.
  std::filesystem::path config = {};
  /// The same as text, {"log2_table": 15}. Only one of the two may be given.
  std::string settings = {};
  uint64_t seed = 1;  // of the first parameters and of every draw
  /// Which variant does each operation: "best", the fastest here, for which unknown ones are timed once and remembered in the
  /// user's cache; "last" or "naive", the last or first of each ladder; or a JSON file {"operation": "variant id"}.
  std::string rungs = "best";
  int threads =
      0;  // OpenMP's, 0: as many as it takes. With one thread the same settings and seed give the same bytes
};

/// When a training ends: give one of both. They count from the trainer's first step, so that a second call with a larger
/// budget continues.
struct Budget {
  int64_t steps = 0;
  double seconds = 0;         // without the time that reports take
  double report_seconds = 1;  // time between reports; 0: after every step
};

struct Progress {
  int64_t step = 0;     // steps done
  double seconds = 0;   // of training
  double share = 0;     // of the budget that is used up, 0 to 1
  double loss = 0;      // of the last step's batch
  double psnr = 0;      // of the same batch before the step, dB
  int64_t samples = 0;  // points of the field that the last step learned from
  int64_t batch_samples =
      0;  // those that a step aims at: halved where memory is too short; 0 if that is fixed
};

/// Learns a field from a scene's pictures.
class Trainer {
 public:
  explicit Trainer(const Scene& scene, const TrainerOptions& options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  /// Called after the first step, then every `report_seconds`, and after the last step. Returning false ends the training.
  /// What it throws leaves train(), and the trainer is as after that step.
  using Report = std::function<bool(const Progress&)>;
  /// Trains until the budget is used up, and returns where it ended.
  Progress train(const Budget& budget, const Report& report = {});

  /// Returns a copy of the present field, which further steps do not change.
  Field field() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct Picture {
  int width = 0, height = 0;
  std::vector<float> rgb = {};      // [height, width, 3] sRGB-encoded; may be slightly outside of 0 to 1
  std::vector<float> opacity = {};  // [height, width] 0 to 1
  std::vector<float> depth = {};    // [height, width] distance along the ray, times opacity

  /// Writes the colors as a PNG of 8 bits a channel.
  void save_png(const std::filesystem::path& file) const;
};

struct ViewScore {
  std::string name;
  double psnr = 0, ssim = 0;
};

/// Agreement with the test views. PSNR: peak signal-to-noise ratio in dB, of colors rounded to 8 bits. SSIM: structural
/// similarity, at most 1 (Z. Wang et al., "Image Quality Assessment", 2004).
struct Score {
  double psnr = 0, ssim = 0;  // means over the views
  std::string protocol;       // how they were computed, in words
  std::vector<ViewScore> views;
};

struct RendererOptions {
  std::string rungs = "best";  // as in TrainerOptions
  int threads = 0;             // as in TrainerOptions
  /// Format of tables and weights in memory: "f32", or "bf16", "f16" or "int8", which take a half or a quarter of the bytes and cost
  /// some accuracy. The renderer then has a copy of the numbers; the field keeps its floats. Gaussians have "f32" only.
  std::string precision = "f32";
};

/// Makes pictures of a field, and evaluates it at points.
class Renderer {
 public:
  explicit Renderer(const Field& field, const RendererOptions& options = {});
  Renderer(Renderer&&) noexcept;
  Renderer& operator=(Renderer&&) noexcept;
  ~Renderer();

  Picture render(const Camera& camera);
  /// Returns the bytes that the field's numbers take in the renderer's format, with their scales.
  int64_t bytes() const;
  /// Compares pictures with the test views of the scene that the field was trained on, loaded with the same options.
  Score score(const Scene& scene);

  /// Returns the density [n] at n points, per side of the scene's cube: over a length s in which it is constant it absorbs
  /// 1 - exp(-density·s) of the light (N. Max, "Optical models for direct volume rendering", 1995). It is 0 where pictures see
  /// nothing, outside of the field's box and in cells that its grid leaves out. Gaussians have no density, and the precision has
  /// to be "f32".
  std::vector<float> density(const std::vector<Point>& points);
  /// Returns the colors [n] of n points as a ray sees each that passes it in the direction of the same number: from the camera into
  /// the scene, of any length above 0. Where the density is 0, a color means nothing. For the same fields as density().
  std::vector<Point> colors(const std::vector<Point>& points, const std::vector<Point>& directions);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace klab::radiance
