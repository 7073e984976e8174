// Reads transforms*.json: Blender's NeRF sets (transforms_train.json, transforms_test.json, camera_angle_x,
// alpha), instant-ngp's (transforms.json, intrinsics with lens distortion, aabb_scale) and nerfstudio's
// (camera_model, lists of files, points, masks).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "harness/records/input.h"
#include "labs/radiance/scene/frames.h"
#include "labs/radiance/scene/transforms_fields.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse_transforms(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

json parse(const fs::path& file) {
  json document = read_json_file(file);
  if (!document.is_object()) refuse_transforms(file, "holds no JSON object at its top level");
  return document;
}

/// Returns the size that the frame's camera was calibrated for: its own, else the document's.
std::optional<ImageSize> stated_size(const fs::path& file, const json& document, const json& entry) {
  // A frame with a size of its own may differ from the rest: sets of several cameras do that.
  const json& sized = entry.contains("w") && entry.contains("h") ? entry : document;
  const auto w = optional_number(file, sized, "w", range::picture_side);
  const auto h = optional_number(file, sized, "h", range::picture_side);
  if (!w || !h) return std::nullopt;
  return ImageSize{int(std::lround(*w)), int(std::lround(*h))};
}

fs::path mask_of(const fs::path& file, const json& entry, const std::string& name) {
  const auto at = entry.find("mask_path");
  if (at == entry.end()) return {};
  if (!at->is_string()) refuse_transforms(file, fmt::format("frame {}: \"mask_path\" is no text", name));
  const fs::path mask =
      file.parent_path() / file_name_of(file, *at, fmt::format("frame {}: \"mask_path\"", name));
  std::error_code ignored;
  if (!fs::is_regular_file(mask, ignored))
    refuse_transforms(
        file, fmt::format("frame {}: its mask {} is not there; take \"mask_path\" out if none is wanted",
                          name, mask.string()));
  return mask;
}

// Returns the frames of one document whose pictures exist; the others are counted in `notes`.
std::vector<Frame> frames_of_transforms(const fs::path& file, const json& document, int downscale,
                                        std::vector<std::string>& notes) {
  const auto list = document.find("frames");
  if (list == document.end() || !list->is_array())
    refuse_transforms(file, "has no \"frames\" array: is this a transforms file?");
  if (list->empty()) refuse_transforms(file, "has an empty \"frames\" array");
  refuse_other_lenses(file, document);
  std::vector<Frame> frames;
  PictureFinder pictures(file.parent_path(), downscale);
  std::optional<ImageSize> first;  // if no size is stated, the first picture sets the aspect ratio of all
  for (size_t i = 0; i < list->size(); ++i) {
    const json& entry = (*list)[i];
    const auto path = entry.is_object() ? entry.find("file_path") : entry.end();
    if (!entry.is_object() || path == entry.end() || !path->is_string())
      refuse_transforms(file, fmt::format("frame {} has no \"file_path\" text", i));
    const std::string name = file_name_of(file, *path, fmt::format("frame {}: \"file_path\"", i));
    refuse_other_lenses(file, entry);
    const auto pose = pose_of(file, entry, name);
    const auto stated = stated_size(file, document, entry);
    std::optional<Frame> found = pictures.find(name, stated, first);
    if (!found) continue;
    const ImageSize size{found->camera.width, found->camera.height};
    if (!stated && !first) first = size;
    found->mask = mask_of(file, entry, name);
    const Lens lens = lens_in(file, document, entry, size);
    found->camera = lens.camera;
    found->fisheye = lens.fisheye;
    found->model = lens_name(document, entry, lens);
    found->camera.pose = pose;
    frames.push_back(std::move(*found));
  }
  for (std::string& note : pictures.notes(file.filename().string(), list->size()))
    notes.push_back(std::move(note));
  if (frames.empty())
    refuse_transforms(
        file, fmt::format("none of its {} frames has a usable picture (first looked for: {})", list->size(),
                          (file.parent_path() / pictures.first_missing()).string()));
  return frames;
}

// Returns the file(s) to read in a folder. Only the known names count, not every JSON file.
fs::path document_in(const fs::path& folder) {
  if (fs::exists(folder / "transforms_train.json")) return folder / "transforms_train.json";
  if (fs::exists(folder / "transforms.json")) return folder / "transforms.json";
  std::string found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json")
      found += (found.empty() ? "" : ", ") + entry.path().filename().string();
  refuse_transforms(
      folder, found.empty()
                  ? "holds no transforms_train.json, no transforms.json and no COLMAP model (cameras.bin or "
                    "cameras.txt; in sparse, sparse/0 or colmap/sparse/0 too)"
                  : "holds neither transforms_train.json nor transforms.json nor a COLMAP model; name one of "
                    "these files itself if it is one: " +
                        found);
}

/// Splits frames by nerfstudio's lists of files: those for training, and those for testing (the test set,
/// else the validation set).
bool split_by_lists(const fs::path& file, const json& document, Frames& frames,
                    std::vector<std::string>& notes) {
  const auto names = [&](const char* key) {
    std::set<std::string> list;
    const auto at = document.find(key);
    if (at == document.end()) return list;
    if (!at->is_array()) refuse_transforms(file, fmt::format("\"{}\" is no list of files", key));
    for (const json& name : *at)
      list.insert(fs::path(file_name_of(file, name, fmt::format("\"{}\"", key))).lexically_normal().string());
    return list;
  };
  const std::set<std::string> train = names("train_filenames"), given = names("test_filenames"),
                              validation = names("val_filenames");
  if (train.empty() && given.empty() && validation.empty()) return false;
  const std::set<std::string>& test = given.empty() ? validation : given;
  std::vector<Frame> all = std::move(frames.train);
  frames.train.clear();
  size_t unlisted = 0;
  for (Frame& frame : all) {
    const std::string name = fs::path(frame.name).lexically_normal().string();
    const bool tests = test.contains(name), trains = train.empty() ? !tests : train.contains(name) && !tests;
    if (tests || trains)
      (tests ? frames.test : frames.train).push_back(std::move(frame));
    else
      ++unlisted;
  }
  if (unlisted > 0)
    notes.push_back(fmt::format("{} frames are in no list of files and are left out", unlisted));
  if (const size_t wanted = train.size() + test.size(), got = frames.train.size() + frames.test.size();
      !train.empty() && wanted > got)
    notes.push_back(fmt::format("{} of {} files listed for training and testing are no frame with a picture",
                                wanted - got, wanted));
  if (frames.train.empty()) refuse_transforms(file, "no frame with a picture is in \"train_filenames\"");
  return true;
}

void read_points_named(const fs::path& file, const json& document, Scene& scene) {
  const auto at = document.find("ply_file_path");
  if (at == document.end()) return;
  const fs::path points = file.parent_path() / file_name_of(file, *at, "\"ply_file_path\"");
  std::error_code ignored;
  if (!fs::exists(points, ignored)) {
    scene.notes.push_back(fmt::format("the points {} are not there", points.string()));
    return;
  }
  take_points(scene, read_point_cloud(points));
}

/// Sets scale, offset and cascades from the file, or by the convention of its format.
void place_by_file(const fs::path& file, const json& document, bool ngp, Scene& scene) {
  const double aabb = optional_number(file, document, "aabb_scale", range::aabb_scale).value_or(1);
  if (std::exp2(std::round(std::log2(aabb))) != aabb)
    refuse_transforms(file,
                      fmt::format("\"aabb_scale\" must be a power of two from 1 to 128, found {}", aabb));
  scene.cascades = 1 + int(std::lround(std::log2(aabb)));
  // Blender's sets fit into [-1.5, 1.5]³; instant-ngp's convention is p·0.33 + 0.5.
  scene.scale =
      float(optional_number(file, document, "scale", range::scale).value_or(ngp ? 0.33 : 1.0 / 3.0));
  scene.offset = {0.5F, 0.5F, 0.5F};
  if (const auto offset = document.find("offset"); offset != document.end()) {
    if (!offset->is_array() || offset->size() != 3)
      refuse_transforms(file, "\"offset\" must be three numbers");
    const auto element = [&](size_t i) {
      return float(
          number_of<double>((*offset)[i], fmt::format("offset[{}]", i), range::offset, file.string()));
    };
    scene.offset = {element(0), element(1), element(2)};
  }
}

bool has_any(const json& document, std::initializer_list<const char*> keys) {
  return std::ranges::any_of(keys, [&](const char* key) { return document.contains(key); });
}

std::string format_of(const json& document) {
  if (has_any(document, {"camera_model", "applied_transform", "ply_file_path", "train_filenames",
                         "val_filenames", "test_filenames"}))
    return "nerfstudio";
  return has_any(document, {"aabb_scale", "fl_x"}) ? "instant-ngp" : "Blender";
}

}  // namespace

Scene read_transforms(const fs::path& path, const SceneOptions& options) {
  const fs::path file = fs::is_directory(path) ? document_in(path) : path;
  const json document = parse(file);
  Scene scene;
  scene.name = fs::weakly_canonical(file).parent_path().filename().string();
  scene.format = format_of(document);
  Frames frames{.train = frames_of_transforms(file, document, options.downscale, scene.notes), .test = {}};
  const fs::path test_file = file.parent_path() / "transforms_test.json";
  if (file.filename() == "transforms_train.json" && fs::exists(test_file))
    frames.test = frames_of_transforms(test_file, parse(test_file), options.downscale, scene.notes);
  else if (!split_by_lists(file, document, frames, scene.notes))
    frames.hold_out(options.holdout);
  read_points_named(file, document, scene);
  require_matrix(file, document, "applied_transform");
  const bool placed = has_any(document, {"aabb_scale", "scale", "offset"});
  if (scene.format == "nerfstudio" && !placed)
    choose_place(scene, frames);
  else
    place_by_file(file, document, scene.format != "Blender", scene);
  scene.near = scene.format == "Blender" ? 0.05F : 0.1F;
  place_in_grid(scene, frames);
  load_pictures(scene, frames, options, path);
  return scene;
}

}  // namespace klab
