#include "labs/radiance/scene/colmap_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 1000;

bool has(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw std::runtime_error(where + ": " + why);
}

}  // namespace

std::optional<fs::path> colmap_folder(const fs::path& folder) {
  for (const char* below : {"", "sparse", "sparse/0", "colmap/sparse/0"}) {
    const fs::path candidate = *below == 0 ? folder : folder / below;
    if (has(candidate / "cameras.bin") || has(candidate / "cameras.txt")) return candidate;
  }
  return std::nullopt;
}

ColmapModel read_colmap(const fs::path& folder) {
  ColmapModel model;
  model.binary = has(folder / "cameras.bin");
  const std::string ending = model.binary ? ".bin" : ".txt";
  for (const char* name : {"cameras", "images"})
    if (const fs::path file = folder / (name + ending); !has(file))
      refuse(file.string(), fmt::format("no such file: a COLMAP model has cameras{0} and images{0}", ending));
  (model.binary ? read_colmap_binary : read_colmap_text)(folder, model);
  const std::string images = (folder / ("images" + ending)).string();
  if (model.images.empty()) refuse(images, "holds no image");
  std::ranges::sort(model.images, {}, &ColmapImage::name);
  const auto twice = std::ranges::adjacent_find(model.images, {}, &ColmapImage::name);
  if (twice != model.images.end()) refuse(images, "the image " + excerpt(twice->name) + " is there twice");
  return model;
}

void add_colmap_camera(ColmapModel& model, uint32_t number, const LensModel& lens, double width,
                       double height, std::span<const double> parameters, const std::string& where) {
  if (!within(width, range::picture_side) || !within(height, range::picture_side))
    refuse(where, fmt::format("says that its pictures are {}x{}; a side must be {}", width, height,
                              text_of(range::picture_side)));
  const ColmapCamera camera{std::string(lens.name),
                            lens_of(lens, parameters, {int(width), int(height)}, where)};
  if (!model.cameras.emplace(number, camera).second) refuse(where, "is there twice");
}

void add_colmap_image(ColmapModel& model, const std::array<double, 4>& rotation,
                      const std::array<double, 3>& translation, uint32_t camera, std::string name,
                      const std::string& where) {
  if (name.empty() || name.size() > kLongestName || name.find('\0') != std::string::npos)
    refuse(where, "its name is no name of a file");
  const std::string image = where + " (" + excerpt(name) + ")";
  if (!model.cameras.contains(camera))
    refuse(image, fmt::format("was taken by camera {}, which the model does not have", camera));
  double length = 0;
  for (const double q : rotation) length += q * q;
  length = std::sqrt(length);
  if (!within(length, {1e-6, 1e6})) refuse(image, fmt::format("its rotation has the length {}", length));
  for (const double t : translation)
    if (!within(t, range::pose))
      refuse(image, fmt::format("its translation must be numbers {}, found {}", text_of(range::pose), t));
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
    out.pose[4 * i + 3] = float(at);
  }
  model.images.push_back(std::move(out));
}

}  // namespace klab
