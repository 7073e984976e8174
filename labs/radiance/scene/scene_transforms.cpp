// Reads transforms*.json: Blender's NeRF sets (transforms_train.json, transforms_test.json, camera_angle_x,
// alpha), instant-ngp's (transforms.json, intrinsics with lens distortion, aabb_scale) and nerfstudio's
// (camera_model, lists of files, points, masks).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "harness/records/input.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/frames.h"
#include "labs/radiance/scene/transforms_fields.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse_transforms(const fs::path& file, const std::string& field, const std::string& what,
                                    const std::string& remedy) {
  throw Refused(file, field, what, remedy);
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
  const std::string field = fmt::format("frame {}: \"mask_path\"", excerpt(name));
  const std::string mask = file_name_of(file, *at, field);
  for (const fs::path& there : {file.parent_path() / mask, file.parent_path() / with_slashes(mask)}) {
    std::error_code ignored;
    if (fs::is_regular_file(there, ignored)) return there;
  }
  refuse_transforms(file, field, fmt::format("{}: its mask {} is not there", field, excerpt(mask)),
                    "bring it, or take \"mask_path\" out if none is wanted");
}

/// Finds the frame's depth map, which nerfstudio calls "depth_file_path" and instant-ngp "depth_path", and its unit.
void find_depth(const fs::path& file, const json& document, const json& entry, const std::string& name,
                Frame& frame) {
  const char* key = entry.contains("depth_file_path") ? "depth_file_path" : "depth_path";
  const auto at = entry.find(key);
  if (at == entry.end()) return;
  const std::string field = fmt::format("frame {}: \"{}\"", excerpt(name), key);
  const std::string map = file_name_of(file, *at, field);
  frame.depth_unit =
      optional_number(file, document, "integer_depth_scale", {1e-12, 1e6}).value_or(frame.depth_unit);
  std::error_code ignored;
  frame.depth = file.parent_path() / map;  // that it is there matters only where depth is read
  if (!fs::is_regular_file(frame.depth, ignored)) frame.depth = file.parent_path() / with_slashes(map);
}

/// Returns whether a frame has intrinsics of its own, so that nothing says that its picture has the shape of others.
bool has_own_lens(const json& entry) {
  return std::ranges::any_of(std::array{"fl_x", "fl_y", "camera_angle_x", "camera_angle_y", "cx", "cy"},
                             [&](const char* key) { return entry.contains(key); });
}

// Returns the frames of one document whose pictures exist; the others are counted in `notes`. Refuses a document of
// which none exists, unless `none_will_do`.
std::vector<Frame> frames_of_transforms(const fs::path& file, const json& document, int downscale,
                                        std::vector<std::string>& notes, bool none_will_do = false) {
  const auto list = document.find("frames");
  if (list == document.end() || !list->is_array())
    refuse_transforms(file, "\"frames\"", "has no \"frames\" array", "name a transforms file");
  if (list->empty())
    refuse_transforms(file, "\"frames\"", "has an empty \"frames\" array", "add a frame for each picture");
  refuse_other_lenses(file, document);
  std::vector<Frame> frames;
  PictureFinder pictures(file.parent_path(), downscale);
  std::set<fs::path> shown;
  size_t twice = 0;
  std::string first_twice;
  std::optional<ImageSize> first;  // if no size is stated, the first picture sets the aspect ratio of all
  for (size_t i = 0; i < list->size(); ++i) {
    const json& entry = (*list)[i];
    const auto path = entry.is_object() ? entry.find("file_path") : entry.end();
    if (!entry.is_object() || path == entry.end() || !path->is_string())
      refuse_transforms(file, "\"file_path\"", fmt::format("frame {} has no \"file_path\" text", i),
                        "name its picture, or take the frame out");
    const std::string name = file_name_of(file, *path, fmt::format("frame {}: \"file_path\"", i));
    refuse_other_lenses(file, entry);
    const FilePose pose = pose_of(file, entry, name);
    const auto stated = stated_size(file, document, entry);
    const bool own = has_own_lens(entry);
    std::optional<Frame> found = pictures.find(name, stated, own ? std::nullopt : first);
    if (!found) continue;
    if (!shown.insert(found->image.lexically_normal()).second && twice++ == 0) first_twice = name;
    const ImageSize size{found->camera.width, found->camera.height};
    if (!stated && !first && !own) first = size;
    found->mask = mask_of(file, entry, name);
    find_depth(file, document, entry, name, *found);
    const Lens lens = lens_in(file, document, entry, size);
    found->camera = lens.camera;
    found->fisheye = lens.fisheye;
    found->model = lens_name(document, entry, lens);
    found->camera.pose = pose.pose;
    found->at = pose.at;
    frames.push_back(std::move(*found));
  }
  for (std::string& note : pictures.notes(file.filename().string(), list->size()))
    notes.push_back(std::move(note));
  if (twice > 0)
    notes.push_back(fmt::format(
        "{} frames show a picture that another frame shows (first: {}): a view for testing may be one "
        "for training too, and then its score is too high",
        twice, excerpt(first_twice)));
  if (frames.empty() && !none_will_do)
    throw pictures.none_usable(file, list->size(), "\"file_path\"", "\"w\" and \"h\"");
  return frames;
}

/// Returns the number of photographs in a folder.
int photographs_in(const fs::path& folder) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    std::string ending = entry.path().extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    count += ending == ".jpg" || ending == ".jpeg" || ending == ".png" ? 1 : 0;
  }
  return count;
}

/// Refuses a folder of photographs without poses with the commands that find them.
void refuse_photographs_alone(const fs::path& folder) {
  for (const fs::path& pictures : {folder / "images", folder}) {
    const int count = photographs_in(pictures);
    if (count == 0) continue;
    const std::string in = folder.string(), database = in + "/database.db";
    refuse_transforms(
        folder, "poses", fmt::format("holds {} photographs and no poses", count),
        fmt::format(
            "let COLMAP find them: colmap feature_extractor --database_path {0} --image_path {1}; colmap "
            "exhaustive_matcher --database_path {0}; mkdir -p {2}/sparse && colmap mapper --database_path "
            "{0} "
            "--image_path {1} --output_path {2}/sparse",
            database, pictures.string(), in));
  }
}

// Returns the file(s) to read in a folder. Only the known names count, not every JSON file.
fs::path document_in(const fs::path& folder) {
  if (fs::exists(folder / "transforms_train.json")) return folder / "transforms_train.json";
  if (fs::exists(folder / "transforms.json")) return folder / "transforms.json";
  std::string found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".json")
      found += (found.empty() ? "" : ", ") + entry.path().filename().string();
  if (error)
    refuse_transforms(folder, "its list of files", "its list of files cannot be read: " + error.message(),
                      "check its permissions");
  if (found.empty()) refuse_photographs_alone(folder);
  const std::string field = "transforms_train.json";
  if (found.empty())
    refuse_transforms(
        folder, field,
        "holds no transforms_train.json, no transforms.json and no COLMAP model (cameras.bin or "
        "cameras.txt; in sparse, sparse/0 or colmap/sparse/0 too)",
        "name the folder of a scene");
  refuse_transforms(folder, field,
                    "holds neither transforms_train.json nor transforms.json nor a COLMAP model",
                    "name one of these files itself if it is one: " + found);
}

/// Splits frames by nerfstudio's lists of files: those for training, and those for testing (the test set,
/// else the validation set).
bool split_by_lists(const fs::path& file, const json& document, Frames& frames,
                    std::vector<std::string>& notes) {
  const auto names = [&](const char* key) {
    std::set<std::string> list;
    const auto at = document.find(key);
    if (at == document.end()) return list;
    const std::string field = fmt::format("\"{}\"", key);
    if (!at->is_array())
      refuse_transforms(file, field, field + " is no list of files", "write a list of names, or take it out");
    for (const json& name : *at)
      list.insert(fs::path(with_slashes(file_name_of(file, name, field))).lexically_normal().string());
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
    const std::string name = fs::path(with_slashes(frame.name)).lexically_normal().string();
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
  if (frames.train.empty())
    refuse_transforms(file, "\"train_filenames\"", "no frame with a picture is in \"train_filenames\"",
                      "correct the names, or take the list out");
  if (!frames.test.empty() || test.empty()) return true;
  notes.push_back(
      fmt::format("none of the {} pictures for testing that the file lists is there: views for training are "
                  "held out in their place",
                  test.size()));
  return false;
}

void read_points_named(const fs::path& file, const json& document, Scene& scene) {
  const auto at = document.find("ply_file_path");
  if (at == document.end()) return;
  const std::string name = file_name_of(file, *at, "\"ply_file_path\"");
  std::error_code ignored;
  fs::path points = file.parent_path() / name;
  if (!fs::exists(points, ignored)) points = file.parent_path() / with_slashes(name);
  if (!fs::exists(points, ignored)) {
    scene.notes.push_back(fmt::format("the points {} are not there", points.string()));
    return;
  }
  // Training does not need points: what cannot be read of them is no reason to refuse the scene.
  std::optional<PointCloud> cloud;
  try {
    cloud = read_point_cloud(points, scene.origin);
  } catch (const std::runtime_error& e) {
    scene.notes.push_back(fmt::format("the points are not read: {}", e.what()));
  }
  if (cloud) take_points(scene, std::move(*cloud));
}

/// Sets scale, offset and cascades from the file, or by the convention of its format.
void place_by_file(const fs::path& file, const json& document, bool ngp, Scene& scene) {
  const double aabb = optional_number(file, document, "aabb_scale", range::aabb_scale).value_or(1);
  if (std::exp2(std::round(std::log2(aabb))) != aabb)
    refuse_transforms(file, "\"aabb_scale\"",
                      fmt::format("\"aabb_scale\" must be a power of two from 1 to 128, found {}", aabb),
                      "take the nearest one");
  scene.cascades = 1 + int(std::lround(std::log2(aabb)));
  // Blender's sets fit into [-1.5, 1.5]³; instant-ngp's convention is p·0.33 + 0.5.
  scene.scale =
      float(optional_number(file, document, "scale", range::scale).value_or(ngp ? 0.33 : 1.0 / 3.0));
  std::array<double, 3> offset{0.5, 0.5, 0.5};
  if (const auto given = document.find("offset"); given != document.end()) {
    if (!given->is_array() || given->size() != 3)
      refuse_transforms(file, "\"offset\"", "\"offset\" must be three numbers", "correct it, or take it out");
    for (size_t i = 0; i < 3; ++i) {
      const json element = {{"offset", (*given)[i]}};
      // An offset of a world that is far away is as large as its coordinates.
      offset[i] =
          optional_number(file, element, "offset", kWorld, fmt::format("offset[{}]: ", i)).value_or(0);
    }
  }
  const auto of_origin = [&](size_t k) { return float(offset[k] + double(scene.scale) * scene.origin[k]); };
  scene.offset = {of_origin(0), of_origin(1), of_origin(2)};
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
  const json document = read_transforms_json(file);
  Scene scene;
  scene.name = fs::weakly_canonical(file).parent_path().filename().string();
  scene.format = format_of(document);
  Frames frames{.train = frames_of_transforms(file, document, options.downscale, scene.notes), .test = {}};
  fs::path test_file = file.parent_path() / "transforms_test.json";
  if (const fs::path validation = file.parent_path() / "transforms_val.json";
      !fs::exists(test_file) && fs::exists(validation))
    test_file = validation;
  if (file.filename() == "transforms_train.json" && fs::exists(test_file)) {
    frames.test = frames_of_transforms(test_file, read_transforms_json(test_file), options.downscale,
                                       scene.notes, true);
    if (frames.test.empty()) {
      scene.notes.push_back(
          fmt::format("none of the pictures of {} is there: views for training are held out in their "
                      "place (take the file away if that is meant)",
                      test_file.filename().string()));
      frames.hold_out(options.holdout);
    } else if (test_file.filename() == "transforms_val.json") {
      scene.notes.emplace_back(
          "there is no transforms_test.json: the views of transforms_val.json are for testing");
    }
  } else if (!split_by_lists(file, document, frames, scene.notes)) {
    frames.hold_out(options.holdout);
  }
  for (std::string& note : notes_on_keys(file, document)) scene.notes.push_back(std::move(note));
  scene.origin = origin_of(frames.positions());
  subtract_origin(scene, frames);
  read_points_named(file, document, scene);
  require_matrix(file, document, "applied_transform");
  const bool placed = has_any(document, {"aabb_scale", "scale", "offset"});
  // A convention for worlds around the zero point says nothing of one that is far away.
  const bool conventional = scene.format != "nerfstudio" || placed;
  if (!conventional || (scene.far_away() && !document.contains("offset")))
    choose_place(scene, frames);
  else
    place_by_file(file, document, scene.format != "Blender", scene);
  scene.near = scene.format == "Blender" ? 0.05F : 0.1F;
  place_in_grid(scene, frames, file);
  load_pictures(scene, frames, options, path);
  return scene;
}

}  // namespace klab
