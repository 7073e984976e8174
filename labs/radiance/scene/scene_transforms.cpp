// transforms*.json: Blender's NeRF sets (transforms_train.json, transforms_test.json, camera_angle_x, alpha)
// and instant-ngp's (transforms.json, intrinsics with lens distortion, aabb_scale).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "labs/radiance/scene/scene.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

json parse(const fs::path& file) {
  std::ifstream in(file);
  if (!in) fail(file, "cannot be read (check that it exists and its permissions)");
  try {
    json document = json::parse(in);
    if (!document.is_object()) fail(file, "holds no JSON object at its top level");
    return document;
  } catch (const json::parse_error& e) {
    fail(file, fmt::format("is not valid JSON near byte {} (truncated?): {}", e.byte, e.what()));
  } catch (const json::out_of_range& e) {  // 1e999
    fail(file, fmt::format("holds a number too large for anything: {}", e.what()));
  }
}

// A finite number of that name, or nothing when it is absent. Anything else under that name is an error.
std::optional<double> number(const fs::path& file, const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  if (!at->is_number()) fail(file, fmt::format("\"{}\" must be a number, found {}", key, at->dump()));
  const double value = at->get<double>();
  if (!std::isfinite(value)) fail(file, fmt::format("\"{}\" must be finite", key));
  return value;
}

std::array<float, 12> pose_of(const fs::path& file, const json& frame, const std::string& name) {
  const auto at = frame.find("transform_matrix");
  if (at == frame.end()) fail(file, fmt::format("frame {} has no \"transform_matrix\"", name));
  std::array<float, 12> pose{};
  const json& rows = *at;
  const auto bad = [&](const std::string& why) {
    fail(file, fmt::format("frame {}: \"transform_matrix\" {}; it must be a rigid 4x4 camera-to-world matrix",
                           name, why));
  };
  if (!rows.is_array() || rows.size() != 4) bad("does not have 4 rows");
  for (size_t r = 0; r < 4; ++r) {
    if (!rows[r].is_array() || rows[r].size() != 4) bad(fmt::format("row {} does not have 4 numbers", r));
    for (size_t c = 0; c < 4; ++c) {
      if (!rows[r][c].is_number()) bad(fmt::format("element [{}][{}] is not a number", r, c));
      const double v = rows[r][c].get<double>();
      if (!std::isfinite(v) || std::abs(v) > 1e6) bad(fmt::format("element [{}][{}] is not finite", r, c));
      if (r < 3) pose[r * 4 + c] = float(v);
      if (r == 3 && std::abs(v - (c == 3 ? 1 : 0)) > 1e-4) bad("has a last row other than 0 0 0 1");
    }
  }
  const auto column = [&](size_t c) { return Vec3{pose[c], pose[4 + c], pose[8 + c]}; };
  const Vec3 x = column(0), y = column(1), z = column(2);
  const float off = std::max({std::abs(dot(x, x) - 1), std::abs(dot(y, y) - 1), std::abs(dot(z, z) - 1),
                              std::abs(dot(x, y)), std::abs(dot(y, z)), std::abs(dot(z, x))});
  if (!(off <= 1e-2F)) bad("is not rigid: its columns are not orthonormal");
  if (!(dot(cross(x, y), z) > 0)) bad("mirrors (its determinant is negative)");
  return pose;
}

fs::path find_image(const fs::path& folder, const std::string& name) {
  for (const char* extension : {"", ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"}) {
    const fs::path candidate = folder / (name + extension);
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return {};
}

// Lenses that would be misread in silence are refused. Files name them in several ways (instant-ngp, COLMAP, nerfstudio).
void refuse_other_lenses(const fs::path& file, const json& object) {
  const auto refuse = [&](const std::string& what) {
    fail(file, what +
                   " is a lens klab does not know: it knows pinholes with OpenCV's k1, k2, p1, p2 (undistort "
                   "the pictures "
                   "first, for instance with COLMAP's image_undistorter)");
  };
  static constexpr std::array known = {"OPENCV", "PINHOLE",       "SIMPLE_PINHOLE",
                                       "RADIAL", "SIMPLE_RADIAL", "PERSPECTIVE"};
  if (const auto model = object.find("camera_model"); model != object.end()) {
    const std::string text = model->is_string() ? model->get<std::string>() : model->dump();
    if (std::find(known.begin(), known.end(), text) == known.end())
      refuse(fmt::format("\"camera_model\" {}", text));
  }
  for (const char* key : {"is_fisheye", "latlong", "equirectangular", "lightfield"})
    if (const auto at = object.find(key); at != object.end() && *at != false && *at != 0)
      refuse(fmt::format("\"{}\" {}", key, at->dump()));
  for (const char* key : {"k3", "k4", "k5", "k6", "ftheta_p0", "ftheta_p1"})
    if (const double value = number(file, object, key).value_or(0); value != 0)
      refuse(fmt::format("\"{}\" {}", key, value));
}

// Intrinsics from the frame, else from the document; `size` is the picture's own.
Camera camera_of(const fs::path& file, const json& document, const json& frame, ImageSize size) {
  const auto field = [&](const char* key) {
    const auto own = number(file, frame, key);
    return own ? own : number(file, document, key);
  };
  const auto positive = [&](const char* key) {
    const auto value = field(key);
    if (value && !(*value > 0))
      fail(file, fmt::format("\"{}\" must be greater than 0, found {}", key, *value));
    return value;
  };
  Camera c;
  c.width = size.width;
  c.height = size.height;
  // A document may describe the originals while the folder holds smaller copies: intrinsics then scale along.
  const double sx = positive("w") ? size.width / *positive("w") : 1.0;
  const double sy = positive("h") ? size.height / *positive("h") : 1.0;
  const auto focal = [&](const char* length, const char* angle, double pixels,
                         double scale) -> std::optional<double> {
    if (const auto f = positive(length)) return *f * scale;
    const auto a = positive(angle);
    if (!a) return std::nullopt;
    if (!(*a < M_PI)) fail(file, fmt::format("\"{}\" must be below pi, found {}", angle, *a));
    return 0.5 * pixels / std::tan(0.5 * *a);
  };
  const auto fx = focal("fl_x", "camera_angle_x", size.width, sx);
  const auto fy = focal("fl_y", "camera_angle_y", size.height, sy);
  if (!fx && !fy) fail(file, "gives no focal length: add \"camera_angle_x\" (radians) or \"fl_x\" (pixels)");
  c.fx = float(fx ? *fx : *fy);
  c.fy = float(fy ? *fy : *fx);
  c.cx = float(field("cx") ? *field("cx") * sx : 0.5 * size.width);
  c.cy = float(field("cy") ? *field("cy") * sy : 0.5 * size.height);
  c.k1 = float(field("k1").value_or(0));
  c.k2 = float(field("k2").value_or(0));
  c.p1 = float(field("p1").value_or(0));
  c.p2 = float(field("p2").value_or(0));
  return c;
}

struct Frame {
  fs::path image;
  std::string name;
  Camera camera;
  int index = 0;
};

// The frames of one document whose pictures are there; the others are counted in `notes`.
std::vector<Frame> frames_of(const fs::path& file, const json& document, std::vector<std::string>& notes) {
  const auto list = document.find("frames");
  if (list == document.end() || !list->is_array())
    fail(file, "has no \"frames\" array: is this a transforms file?");
  if (list->empty()) fail(file, "has an empty \"frames\" array");
  refuse_other_lenses(file, document);
  std::vector<Frame> frames;
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
    refuse_other_lenses(file, entry);
    const auto pose = pose_of(file, entry, frame.name);
    frame.image = find_image(file.parent_path(), frame.name);
    if (frame.image.empty()) {
      if (missing++ == 0) first_missing = frame.name;
      continue;
    }
    const ImageSize size = image_size(frame.image);
    frame.camera = camera_of(file, document, entry, size);
    frame.camera.pose = pose;
    const double own_aspect = double(size.width) / size.height;
    // A frame that says its size may have another than the rest: sets of several cameras do.
    const bool own_camera = entry.contains("w") && entry.contains("h");
    const auto& sized = own_camera ? entry : document;
    const auto w = number(file, sized, "w"), h = number(file, sized, "h");
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

void place(Scene& scene, Camera& camera) {
  for (size_t axis = 0; axis < 3; ++axis) {
    const float o = axis == 0 ? scene.offset.x : axis == 1 ? scene.offset.y : scene.offset.z;
    camera.pose[axis * 4 + 3] = camera.pose[axis * 4 + 3] * scene.scale + o;
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

std::string describe(const Scene& scene, const std::vector<Frame>& train, size_t tests, const fs::path& path,
                     int downscale) {
  const Camera c = train.front().camera.downscaled(downscale);
  int64_t bytes = 0;
  for (const Frame& f : train)
    bytes += int64_t(f.camera.width / downscale) * (f.camera.height / downscale) * 4;
  bytes += int64_t(tests) * c.width * c.height * 4;
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

std::vector<View> load_views(Scene& scene, const std::vector<Frame>& frames, int factor) {
  std::vector<View> views(frames.size());
  std::vector<std::string> errors(frames.size());
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < frames.size(); ++i) {
    try {
      views[i].image = downscale(load_image(frames[i].image), factor);
    } catch (const std::exception& e) {
      errors[i] = e.what();  // an exception must not leave a parallel region
    }
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!errors[i].empty()) throw std::runtime_error(errors[i]);
    views[i].name = frames[i].name;
    views[i].camera = frames[i].camera.downscaled(factor);
    place(scene, views[i].camera);
  }
  return views;
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
  if (!fs::exists(path))
    fail(path, "no such folder or file (for the scene that klab makes itself: built-in)");
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
  const double aabb = number(file, document, "aabb_scale").value_or(1);
  if (!(aabb >= 1 && aabb <= 128) || std::exp2(std::round(std::log2(aabb))) != aabb)
    fail(file, fmt::format("\"aabb_scale\" must be a power of two from 1 to 128, found {}", aabb));
  scene.cascades = 1 + int(std::lround(std::log2(aabb)));
  const bool ngp = scene.format == "instant-ngp";
  // Blender's sets fit into [-1.5, 1.5]³; instant-ngp's convention is p·0.33 + 0.5.
  const double scale = number(file, document, "scale").value_or(ngp ? 0.33 : 1.0 / 3.0);
  if (!(scale > 0)) fail(file, fmt::format("\"scale\" must be greater than 0, found {}", scale));
  scene.scale = float(scale);
  scene.offset = {0.5F, 0.5F, 0.5F};
  if (const auto offset = document.find("offset"); offset != document.end()) {
    if (!offset->is_array() || offset->size() != 3 ||
        !std::all_of(offset->begin(), offset->end(), [](const json& v) { return v.is_number(); }))
      fail(file, "\"offset\" must be three numbers");
    scene.offset = {(*offset)[0].get<float>(), (*offset)[1].get<float>(), (*offset)[2].get<float>()};
  }
  scene.near = ngp ? 0.1F : 0.05F;
  if (options.say) options.say(describe(scene, train, test.size(), path, options.downscale));
  scene.train = load_views(scene, train, options.downscale);
  scene.test = load_views(scene, test, options.downscale);
  note_odd_cameras(scene);
  return scene;
}

}  // namespace klab
