#include "labs/radiance/scene/colmap_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 1000;

bool has(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

constexpr const char* kExportAgain = "export the model again, for instance with COLMAP's model_converter";

[[noreturn]] void refuse(const ColmapRecord& record, const std::string& why,
                         const std::string& remedy = kExportAgain) {
  throw Refused(record.file, record.name, record.name + ": " + why, remedy);
}

}  // namespace

std::optional<fs::path> colmap_folder(const fs::path& folder) {
  for (const char* below : {"", "sparse", "sparse/0", "colmap/sparse/0"}) {
    const fs::path candidate = *below == 0 ? folder : folder / below;
    for (const char* file : {"cameras.bin", "cameras.txt", "images.bin", "images.txt"})
      if (has(candidate / file)) return candidate;  // read_colmap() names what is missing of it
  }
  return std::nullopt;
}

WorldPosition ColmapModel::origin() const {
  std::vector<WorldPosition> positions;
  for (const ColmapImage& image : images) positions.push_back(image.at);
  return origin_of(positions);
}

ColmapModel read_colmap(const fs::path& folder) {
  ColmapModel model;
  model.folder = folder;
  model.binary = has(folder / "cameras.bin") || (!has(folder / "cameras.txt") && has(folder / "images.bin"));
  for (const fs::path& file : {model.cameras_file(), model.images_file()})
    if (!has(file))
      throw Refused(
          file, file.filename().string(),
          fmt::format("no such file: a COLMAP model has {} and {}", model.cameras_file().filename().string(),
                      model.images_file().filename().string()),
          "copy it too, or export the model again");
  (model.binary ? read_colmap_binary : read_colmap_text)(model);
  return model;
}

void add_colmap_camera(ColmapModel& model, uint32_t number, const LensModel& lens, double width,
                       double height, std::span<const double> parameters, const ColmapRecord& record) {
  if (!within(width, range::picture_side) || !within(height, range::picture_side))
    refuse(record, fmt::format("says that its pictures are {}x{}; a side must be {}", width, height,
                               text_of(range::picture_side)));
  const ColmapCamera camera{std::string(lens.name),
                            lens_of(lens, parameters, {int(width), int(height)}, record.file, record.name)};
  if (!model.cameras.emplace(number, camera).second)
    refuse(record, "is there twice", "take one of the two cameras out");
}

void add_colmap_image(ColmapModel& model, const std::array<double, 4>& rotation,
                      const std::array<double, 3>& translation, uint32_t camera, std::string name,
                      const ColmapRecord& record) {
  if (name.empty() || name.size() > kLongestName || name.find('\0') != std::string::npos)
    refuse(record, "its name is no name of a file", "name the picture that it was made of");
  const ColmapRecord image{record.file, record.name + " (" + excerpt(name) + ")"};
  const char* not_found = "take the image out if its camera was not found, or export the model again";
  if (!model.cameras.contains(camera))
    refuse(image, fmt::format("was taken by camera {}, which the model does not have", camera),
           fmt::format("add that camera to {}", model.cameras_file().filename().string()));
  double length = 0;
  for (const double q : rotation) length += q * q;
  length = std::sqrt(length);
  if (!within(length, {1e-6, 1e6}))
    refuse(image, fmt::format("its rotation has the length {}", length), not_found);
  for (const double t : translation)
    if (!within(t, kWorld))
      refuse(image, fmt::format("its translation must be numbers {}, found {}", text_of(kWorld), t),
             not_found);
  const double w = rotation[0] / length, x = rotation[1] / length, y = rotation[2] / length,
               z = rotation[3] / length;
  const double R[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                          {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                          {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
  ColmapImage out{.name = std::move(name), .camera = camera};
  for (size_t i = 0; i < 3; ++i) {
    // Camera to world: the transposed rotation, with y and z negated.
    double at = 0;
    for (size_t k = 0; k < 3; ++k) {
      out.pose[4 * i + k] = float(k == 0 ? R[k][i] : -R[k][i]);
      at -= R[k][i] * translation[k];
    }
    out.at[i] = at;
  }
  model.images.push_back(std::move(out));
}

void sort_colmap_images(ColmapModel& model) {
  const fs::path file = model.images_file();
  if (model.images.empty())
    throw Refused(file, "NAME", "holds no image (no line or record with a NAME)",
                  "register images, for instance with COLMAP's mapper");
  std::ranges::sort(model.images, {}, &ColmapImage::name);
  const auto twice = std::ranges::adjacent_find(model.images, {}, &ColmapImage::name);
  if (twice != model.images.end())
    throw Refused(file, excerpt(twice->name), "the image " + excerpt(twice->name) + " is there twice",
                  "take one of the two out");
}

}  // namespace klab
