#include "labs/radiance/scene/depth.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/records/input.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBytesDepth = 2'000'000'000;  // of a file
constexpr double kOtherShape = 0.02;                // of the aspect ratio
// Shares of the side of the scene's box that a view's largest distance may have: cameras stand up to a few sides away.
constexpr double kLeastReach = 1e-3, kMostReach = 100;

[[noreturn]] void refuse_depth(const fs::path& file, const std::string& field, const std::string& what,
                               const std::string& remedy) {
  throw Refused(file, field, what, remedy);
}

/// Returns whether a file says that its numbers are not linear, so that decoding would change them.
bool has_gamma(std::span<const uint8_t> bytes) {
  static constexpr uint8_t kChunk[] = {'g', 'A', 'M', 'A'}, kData[] = {'I', 'D', 'A', 'T'},
                           kLinear[] = {0x00, 0x01, 0x86, 0xA0};  // 1, times 100,000
  const auto data = std::search(bytes.begin(), bytes.end(), std::begin(kData), std::end(kData));
  const auto at = std::search(bytes.begin(), data, std::begin(kChunk), std::end(kChunk));
  return data - at >= 8 && !std::equal(std::begin(kLinear), std::end(kLinear), at + 4);
}

float along_ray(const Camera& camera, int x, int y, float along_axis) {
  const Ray ray = camera.ray(float(x) + 0.5F, float(y) + 0.5F);
  const float cosine = -dot(ray.direction, camera.axis(2));
  return cosine > 1e-3F ? along_axis / cosine : 0.0F;
}

std::vector<float> depth_of_map(const Frame& frame, const Camera& camera, const Scene& scene) {
  const DepthMap map = load_depth_map(frame.depth);
  if (std::abs(double(map.width) * camera.height / (double(map.height) * camera.width) - 1) > kOtherShape)
    refuse_depth(frame.depth, "size",
                 fmt::format("the depth map is {}x{}, which has not the shape of its picture, {}x{}",
                             map.width, map.height, camera.width, camera.height),
                 "export it again, or take its name out");
  std::vector<float> depth(size_t(camera.width) * size_t(camera.height), 0.0F);
  float farthest = 0;
  for (int y = 0; y < camera.height; ++y)
    for (int x = 0; x < camera.width; ++x) {
      const int64_t column = (2 * int64_t(x) + 1) * map.width / (2 * int64_t(camera.width)),
                    row = (2 * int64_t(y) + 1) * map.height / (2 * int64_t(camera.height));
      const float level = map.levels[size_t(row * map.width + column)];
      const float distance =
          along_ray(camera, x, y, float(double(level) * frame.depth_unit * double(scene.scale)));
      depth[size_t(y) * size_t(camera.width) + size_t(x)] = distance;
      farthest = std::max(farthest, distance);
    }
  if (farthest == 0)
    refuse_depth(frame.depth, "values", "the depth map holds no distance: every number that is used is 0",
                 "export it again, or take its name out");
  if (const double reach = double(farthest) / double(scene.side()); reach < kLeastReach || reach > kMostReach)
    refuse_depth(
        frame.depth, "\"integer_depth_scale\"",
        fmt::format("the depth map reaches {:.3g} sides of the scene's box, so its unit, {:.3g} of the "
                    "file's units, is wrong",
                    reach, frame.depth_unit),
        "write the unit as \"integer_depth_scale\" into the transforms file");
  return depth;
}

std::vector<float> depth_of_points(const Frame& frame, const Camera& camera, const Scene& scene) {
  std::vector<float> depth(size_t(camera.width) * size_t(camera.height), 0.0F);
  for (const int32_t index : frame.shows) {
    const Vec3 at = scene.points[size_t(index)].position, seen = camera.project(at);
    const bool inside = seen.z > 0 && seen.x >= 0 && seen.y >= 0 && seen.x < float(camera.width) &&
                        seen.y < float(camera.height);
    if (!inside) continue;
    float& pixel = depth[size_t(seen.y) * size_t(camera.width) + size_t(seen.x)];
    const float distance = length(at - camera.position());
    if (pixel == 0 || distance < pixel) pixel = distance;  // the nearer of two
  }
  return depth;
}

}  // namespace

DepthMap load_depth_map(const fs::path& file) {
  const std::vector<uint8_t> bytes = read_bytes(file, kMostBytesDepth);
  const char* remedy = "write depth as a gray PNG of 16 bits";
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> guard(&png, png_image_free);
  if (bytes.empty() || !png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()))
    refuse_depth(file, "PNG", "the depth map is no readable PNG", remedy);
  if ((png.format & PNG_FORMAT_FLAG_LINEAR) == 0 || (png.format & PNG_FORMAT_FLAG_COLOR) != 0 ||
      (png.format & PNG_FORMAT_FLAG_ALPHA) != 0 || has_gamma(bytes))
    refuse_depth(file, "PNG", "the depth map is not gray with 16 bits and no gamma", remedy);
  if (!within(double(png.width), range::picture_side) || !within(double(png.height), range::picture_side))
    refuse_depth(file, "size", fmt::format("the depth map is {}x{}", png.width, png.height), remedy);
  DepthMap map{.width = int(png.width), .height = int(png.height), .levels = {}};
  png.format = PNG_FORMAT_LINEAR_Y;
  map.levels.resize(size_t(map.width) * size_t(map.height));
  if (!png_image_finish_read(&png, nullptr, map.levels.data(), 0, nullptr))
    refuse_depth(file, "PNG", std::string("the depth map is damaged: ") + png.message, "copy it again");
  return map;
}

std::vector<float> depth_of(const Frame& frame, const Camera& camera, const Scene& scene) {
  if (!frame.depth.empty()) return depth_of_map(frame, camera, scene);
  return frame.shows.empty() ? std::vector<float>() : depth_of_points(frame, camera, scene);
}

}  // namespace klab
