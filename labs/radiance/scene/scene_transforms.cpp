// transforms*.json: Blender's NeRF sets (transforms_train.json, transforms_test.json, camera_angle_x, alpha)
// and instant-ngp's (transforms.json, intrinsics with lens distortion, aabb_scale).
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "labs/radiance/scene/scene.h"
#include "labs/radiance/scene/transforms_fields.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kLongestName = 1000;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

json parse(const fs::path& file) {
  json document = read_json_file(file);
  if (!document.is_object()) fail(file, "holds no JSON object at its top level");
  return document;
}

fs::path find_image(const fs::path& folder, const std::string& name) {
  for (const char* extension : {"", ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"}) {
    const fs::path candidate = folder / (name + extension);
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return {};
}

struct Frame {
  fs::path image;
  std::string name;
  Camera camera;
  int index = 0;
};

// Sizes of pictures, each read once: several frames may name one.
class Sizes {
 public:
  ImageSize of(const fs::path& file) {
    const auto [at, fresh] = known_.try_emplace(file.native());
    if (fresh) at->second = image_size(file);
    return at->second;
  }

 private:
  std::map<std::string, ImageSize> known_;
};

// The frames of one document whose pictures are there; the others are counted in `notes`.
std::vector<Frame> frames_of(const fs::path& file, const json& document, std::vector<std::string>& notes) {
  const auto list = document.find("frames");
  if (list == document.end() || !list->is_array())
    fail(file, "has no \"frames\" array: is this a transforms file?");
  if (list->empty()) fail(file, "has an empty \"frames\" array");
  refuse_other_lenses(file, document);
  std::vector<Frame> frames;
  Sizes sizes;
  int missing = 0, odd_size = 0;
  std::string first_missing;
  double aspect = 0;
  for (size_t i = 0; i < list->size(); ++i) {
    const json& entry = (*list)[i];
    const auto path = entry.is_object() ? entry.find("file_path") : entry.end();
    if (!entry.is_object() || path == entry.end() || !path->is_string())
      fail(file, fmt::format("frame {} has no \"file_path\" text", i));
    Frame frame;
    frame.index = int(i);
    frame.name = path->get<std::string>();
    if (frame.name.size() > kLongestName || frame.name.find('\0') != std::string::npos)
      fail(file, fmt::format("frame {}: \"file_path\" is no name of a file", i));
    refuse_other_lenses(file, entry);
    const auto pose = pose_of(file, entry, frame.name);
    frame.image = find_image(file.parent_path(), frame.name);
    if (frame.image.empty()) {
      if (missing++ == 0) first_missing = frame.name;
      continue;
    }
    const ImageSize size = sizes.of(frame.image);
    frame.camera = camera_of(file, document, entry, size);
    frame.camera.pose = pose;
    const double own_aspect = double(size.width) / size.height;
    // A frame that says its size may have another than the rest: sets of several cameras do.
    const bool own_camera = entry.contains("w") && entry.contains("h");
    const auto& sized = own_camera ? entry : document;
    const auto w = optional_number(file, sized, "w", range::picture_side);
    const auto h = optional_number(file, sized, "h", range::picture_side);
    if (aspect == 0 && !own_camera) aspect = w && h ? *w / *h : own_aspect;
    if (std::abs(own_aspect / (own_camera ? *w / *h : aspect) - 1) > 0.02) {
      if (odd_size++ == 0)
        notes.push_back(
            fmt::format("{}: {} is {}x{}, of another shape than the camera says: such frames are left out",
                        file.filename().string(), frame.name, size.width, size.height));
      continue;
    }
    frames.push_back(std::move(frame));
  }
  if (missing)
    notes.push_back(fmt::format("{}: {} of {} frames have no picture (first: {}) and are left out",
                                file.filename().string(), missing, list->size(), first_missing));
  if (odd_size > 1) notes.push_back(fmt::format("{} frames of another shape in all", odd_size));
  if (frames.empty())
    fail(file, fmt::format("none of its {} frames has a usable picture (first looked for: {})", list->size(),
                           (file.parent_path() / first_missing).string()));
  return frames;
}

void place(const Scene& scene, const std::string& name, Camera& camera) {
  for (size_t axis = 0; axis < 3; ++axis) {
    const float o = axis == 0 ? scene.offset.x : axis == 1 ? scene.offset.y : scene.offset.z;
    const double at = double(camera.pose[axis * 4 + 3]) * scene.scale + o;
    if (!within(at, range::place))
      throw std::runtime_error(fmt::format(
          "{}: its camera lies {:.3g} sides of the unit cube away, which must be {}: check \"scale\", "
          "\"offset\" and its \"transform_matrix\"",
          name, at, text_of(range::place)));
    camera.pose[axis * 4 + 3] = float(at);
  }
}

// Views that see nothing of the box are worth a word: it is the usual sign of a wrong scale or convention.
void note_odd_cameras(Scene& scene) {
  int inside = 0, away = 0;
  const float half = 0.5F * scene.side();
  for (const View& v : scene.train) {
    const Vec3 p = v.camera.position() - Vec3{0.5F, 0.5F, 0.5F};
    const bool in = std::max({std::abs(p.x), std::abs(p.y), std::abs(p.z)}) < half;
    inside += in;
    away += !in && dot(p, v.camera.axis(2)) < 0;  // looks along -axis(2), away from the center
  }
  if (scene.cascades == 1 && inside)
    scene.notes.push_back(
        fmt::format("{} cameras stand inside the box: the scene may need a larger aabb_scale", inside));
  if (away)
    scene.notes.push_back(fmt::format("{} cameras look away from the box and see nothing of it", away));
}

// Of the pictures as they stay in memory.
int64_t bytes_of(const std::vector<Frame>& frames, int downscale) {
  int64_t bytes = 0;
  for (const Frame& f : frames)
    bytes += int64_t(f.camera.width / downscale) * (f.camera.height / downscale) * 4;
  return bytes;
}

// And while they are decoded: as many at once as there are threads, each with its file and its rows.
int64_t bytes_to_decode(const std::vector<Frame>& frames, int downscale) {
  int64_t largest = 0;
  for (const Frame& f : frames) largest = std::max(largest, int64_t(f.camera.width) * f.camera.height * 6);
  return bytes_of(frames, downscale) +
         (downscale > 1 ? 1 : 0) * largest * std::min<int64_t>(omp_get_max_threads(), int64_t(frames.size()));
}

std::string describe(const Scene& scene, const std::vector<Frame>& train, size_t tests, const fs::path& path,
                     int downscale, int64_t bytes) {
  const Camera c = train.front().camera.downscaled(downscale);
  return fmt::format(
      "scene     {} ({} format)\nviews     {} for training, {} for testing\npicture   {}x{}{}, focal length "
      "{:.1f} "
      "px{}\nbox       a cube of side {:.3g} in the file's units around ({:.3g}, {:.3g}, {:.3g}), near plane "
      "{:.3g}\n"
      "memory    {:.0f} MB for the pictures",
      path.string(), scene.format, train.size(), tests, c.width, c.height,
      downscale > 1 ? fmt::format(" (downscaled by {})", downscale) : "", c.fx,
      c.k1 != 0 || c.k2 != 0 || c.p1 != 0 || c.p2 != 0 ? ", lens distortion" : "", scene.side() / scene.scale,
      (0.5F - scene.offset.x) / scene.scale, (0.5F - scene.offset.y) / scene.scale,
      (0.5F - scene.offset.z) / scene.scale, scene.near / scene.scale, double(bytes) * 1e-6);
}

bool same_lens(const Camera& a, const Camera& b) {
  return a.width == b.width && a.height == b.height && a.fx == b.fx && a.fy == b.fy && a.cx == b.cx &&
         a.cy == b.cy && a.k1 == b.k1 && a.k2 == b.k2 && a.p1 == b.p1 && a.p2 == b.p2;
}

std::vector<View> views_of(const Scene& scene, const std::vector<Frame>& frames, int factor) {
  std::vector<View> views(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    views[i].name = frames[i].name;
    views[i].file = frames[i].image;
    views[i].downscale = factor;
    views[i].camera = frames[i].camera.downscaled(factor);
    place(scene, frames[i].name, views[i].camera);
    // Of one lens for all, or a few.
    const auto same = [&](size_t j) { return same_lens(views[i].camera, views[j].camera); };
    size_t j = 0;
    while (j < i && !same(j)) ++j;
    views[i].with_ray = j < i ? views[j].with_ray : pixels_with_ray(views[i].camera);
    if (views[i].with_ray && views[i].with_ray->empty())
      throw std::runtime_error(fmt::format(
          "{}: no pixel has a ray through this lens: check \"k1\", \"k2\", \"p1\", \"p2\"", frames[i].name));
  }
  return views;
}

void note_pixels_without_ray(Scene& scene) {
  int64_t all = 0, seen = 0;
  size_t views = 0;
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& v : *set) {
      if (!v.with_ray) continue;
      ++views;
      all += int64_t(v.camera.width) * v.camera.height;
      seen += int64_t(v.with_ray->size());
    }
  if (views > 0)
    scene.notes.push_back(
        fmt::format("{} of {} pixels in {} views have no ray: their lens's polynomial folds before it "
                    "reaches them. They are left out "
                    "of training and scores",
                    all - seen, all, views));
}

// Which file(s) a folder means. Several JSON files are not "everything": only the known names count.
fs::path document_in(const fs::path& folder) {
  if (fs::exists(folder / "transforms_train.json")) return folder / "transforms_train.json";
  if (fs::exists(folder / "transforms.json")) return folder / "transforms.json";
  std::string found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json")
      found += (found.empty() ? "" : ", ") + entry.path().filename().string();
  fail(folder, found.empty()
                   ? "holds no transforms_train.json and no transforms.json"
                   : "holds neither transforms_train.json nor transforms.json; name one of these files "
                     "itself if it is one: " +
                         found);
}

}  // namespace

Scene read_transforms(const fs::path& path, const SceneOptions& options) {
  std::error_code error;
  if (const auto status = fs::status(path, error); status.type() == fs::file_type::not_found)
    fail(path, "no such folder or file (for the scene that klab makes itself: built-in)");
  else if (error)
    fail(path, "cannot be looked at: " + error.message());
  const fs::path file = fs::is_directory(path) ? document_in(path) : path;
  const json document = parse(file);
  Scene scene;
  scene.name = fs::weakly_canonical(file).parent_path().filename().string();
  const bool split = file.filename() == "transforms_train.json";
  scene.format = document.contains("aabb_scale") || document.contains("fl_x") ? "instant-ngp" : "Blender";
  std::vector<Frame> train = frames_of(file, document, scene.notes);
  std::vector<Frame> test;
  const fs::path test_file = file.parent_path() / "transforms_test.json";
  if (split && fs::exists(test_file)) {
    test = frames_of(test_file, parse(test_file), scene.notes);
  } else if (options.holdout > 0) {
    std::vector<Frame> kept;
    for (size_t i = 0; i < train.size(); ++i)
      (i % size_t(options.holdout) == 0 && train.size() > 1 ? test : kept).push_back(train[i]);
    train = std::move(kept);
  }
  if (train.size() < 2)
    scene.notes.push_back(
        "only one view to train on: it can be learned by heart, its geometry cannot be known");
  const double aabb = optional_number(file, document, "aabb_scale", range::aabb_scale).value_or(1);
  if (std::exp2(std::round(std::log2(aabb))) != aabb)
    fail(file, fmt::format("\"aabb_scale\" must be a power of two from 1 to 128, found {}", aabb));
  scene.cascades = 1 + int(std::lround(std::log2(aabb)));
  const bool ngp = scene.format == "instant-ngp";
  // Blender's sets fit into [-1.5, 1.5]³; instant-ngp's convention is p·0.33 + 0.5.
  scene.scale =
      float(optional_number(file, document, "scale", range::scale).value_or(ngp ? 0.33 : 1.0 / 3.0));
  scene.offset = {0.5F, 0.5F, 0.5F};
  if (const auto offset = document.find("offset"); offset != document.end()) {
    if (!offset->is_array() || offset->size() != 3) fail(file, "\"offset\" must be three numbers");
    const auto element = [&](size_t i) {
      return float(
          number_of<double>((*offset)[i], fmt::format("offset[{}]", i), range::offset, file.string()));
    };
    scene.offset = {element(0), element(1), element(2)};
  }
  scene.near = ngp ? 0.1F : 0.05F;
  const int factor = options.downscale;
  const int64_t stays = bytes_of(train, factor) + bytes_of(test, factor);
  if (options.say) options.say(describe(scene, train, test.size(), path, factor, stays));
  if (options.pictures)
    require_memory(std::max(bytes_to_decode(train, factor) + bytes_of(test, factor),
                            bytes_of(train, factor) + bytes_to_decode(test, factor)),
                   "reading the pictures of " + path.string(), "use --downscale, or fewer pictures");
  scene.train = views_of(scene, train, factor);
  scene.test = views_of(scene, test, factor);
  if (options.pictures) {
    load_pictures(scene.train);
    load_pictures(scene.test);
  }
  note_pixels_without_ray(scene);
  note_odd_cameras(scene);
  return scene;
}

}  // namespace klab
