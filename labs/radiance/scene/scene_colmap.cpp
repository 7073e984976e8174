// Makes a scene from a COLMAP model and its pictures.
#include <fmt/format.h>

#include <algorithm>

#include "harness/records/input.h"
#include "labs/radiance/scene/colmap_model.h"
#include "labs/radiance/scene/frames.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// Finds the folder whose `images` holds the pictures: the scene's own, or one of the three above the model's
/// files. Pictures may also lie in the scene's folder itself.
struct PictureFolder {
  fs::path root;
  std::string below;  // "images/", or empty
};

PictureFolder pictures_of(const fs::path& folder, const fs::path& model) {
  std::vector<fs::path> candidates = {folder};
  fs::path above = fs::weakly_canonical(model);
  for (int k = 0; k < 3; ++k) candidates.push_back(above = above.parent_path());
  for (const fs::path& candidate : candidates) {
    std::error_code ignored;
    if (fs::is_directory(candidate / "images", ignored)) return {candidate, "images/"};
  }
  return {folder, ""};
}

/// Scales intrinsics to the size of the picture that was found, which may be a reduced copy.
Camera scaled(Camera c, ImageSize size) {
  const double sx = double(size.width) / c.width, sy = double(size.height) / c.height;
  c.fx = float(c.fx * sx), c.cx = float(c.cx * sx);
  c.fy = float(c.fy * sy), c.cy = float(c.cy * sy);
  c.width = size.width, c.height = size.height;
  return c;
}

/// Returns the points that each image shows, by the image's number.
std::map<uint32_t, std::vector<int32_t>> points_by_image(const ColmapModel& model) {
  std::map<uint32_t, std::vector<int32_t>> points;
  if (!model.cloud) return points;
  size_t from = 0;
  for (size_t i = 0; i < model.cloud->seen_end.size(); ++i)
    for (; from < model.cloud->seen_end[i]; ++from) points[model.cloud->seen_by[from]].push_back(int32_t(i));
  return points;
}

/// COLMAP writes a model for each group of images that it could join. Returns a note on those that lie next to this one;
/// empty without any.
std::string note_on_other_models(const fs::path& model, size_t images) {
  std::vector<std::string> others;
  std::error_code ignored;
  const fs::path own = fs::weakly_canonical(model);
  const std::string number = own.filename().string();  // COLMAP numbers the folders of its models
  if (number.find_first_not_of("0123456789") != std::string::npos) return "";
  for (const auto& entry : fs::directory_iterator(own.parent_path(), ignored))
    if (entry.path().filename() != number && (fs::exists(entry.path() / "images.bin", ignored) ||
                                              fs::exists(entry.path() / "images.txt", ignored)))
      others.push_back(entry.path().string());
  if (others.empty()) return "";
  std::ranges::sort(others);
  return fmt::format(
      "{} models lie in {}: {} is read, which has {} images; another one is read if it is named, {}",
      others.size() + 1, own.parent_path().string(), number, images, others.front());
}

std::vector<Frame> frames_of(const ColmapModel& model, const PictureFolder& folder, int downscale,
                             std::vector<std::string>& notes) {
  PictureFinder pictures(folder.root, downscale);
  std::vector<Frame> frames;
  std::map<uint32_t, std::vector<int32_t>> shown = points_by_image(model);
  for (const ColmapImage& image : model.images) {
    const ColmapCamera& camera = model.cameras.at(image.camera);
    const ImageSize stated{camera.lens.camera.width, camera.lens.camera.height};
    std::optional<Frame> found = pictures.find(folder.below + image.name, stated);
    if (!found) continue;
    found->name = image.name;
    found->shows = shown[image.id];
    found->model = camera.model;
    found->fisheye = camera.lens.fisheye;
    found->camera = scaled(camera.lens.camera, {found->camera.width, found->camera.height});
    found->camera.pose = image.pose;
    found->at = image.at;
    const fs::path mask = folder.root / "masks" / (with_slashes(image.name) + ".png");
    std::error_code ignored;
    if (fs::is_regular_file(mask, ignored)) found->mask = mask;
    frames.push_back(std::move(*found));
  }
  const fs::path file = model.images_file();
  for (std::string& note : pictures.notes(file.filename().string(), model.images.size()))
    notes.push_back(std::move(note));
  if (model.without_points > 0)
    notes.push_back(fmt::format("{}: {} images have no line of points behind them, which is read as empty",
                                file.filename().string(), model.without_points));
  if (frames.empty())
    throw pictures.none_usable(file, model.images.size(), "NAME",
                               "WIDTH and HEIGHT in " + model.cameras_file().filename().string());
  return frames;
}

}  // namespace

Scene read_colmap_scene(const fs::path& folder, const fs::path& model_folder, const SceneOptions& options) {
  ColmapModel model = read_colmap(model_folder);
  const PictureFolder pictures = pictures_of(folder, model_folder);
  Scene scene;
  scene.name = fs::weakly_canonical(pictures.root).filename().string();
  scene.format = model.binary ? "COLMAP, binary" : "COLMAP, text";
  Frames frames{.train = frames_of(model, pictures, options.downscale, scene.notes), .test = {}};
  if (std::string note = note_on_other_models(model_folder, model.images.size()); !note.empty())
    scene.notes.push_back(std::move(note));
  frames.hold_out(options.holdout);
  scene.origin = model.origin();
  subtract_origin(scene, frames);
  if (model.cloud)
    take_points(scene, std::move(*model.cloud));
  else
    scene.notes.push_back(
        fmt::format("{} has no points3D{}", model_folder.string(), model.binary ? ".bin" : ".txt"));
  choose_place(scene, frames);
  scene.near = 0.1F;
  place_in_grid(scene, frames, model.images_file());
  load_pictures(scene, frames, options, folder);
  return scene;
}

}  // namespace klab
