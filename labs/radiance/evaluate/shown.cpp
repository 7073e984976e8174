#include "labs/radiance/evaluate/shown.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/scene/image.h"

namespace klab {
namespace {

constexpr float kSurface = 0.5F;  // opacity from which a pixel shows one
constexpr uint8_t kNothing = 40;  // gray of pixels without a surface
constexpr size_t kLevels = 4096;  // of light that an exposure tells apart

std::string as_text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// The expected distance is that of what a pixel shows: by the share of light that is absorbed at all.
float distance_at(const Picture& p, size_t i) {
  return p.opacity[i] >= kSurface ? p.depth[i] / p.opacity[i] : 0.0F;
}

float linear_of(float v) { return v <= 0.04045F ? v / 12.92F : std::pow((v + 0.055F) / 1.055F, 2.4F); }
float srgb_of(float v) { return v <= 0.0031308F ? 12.92F * v : 1.055F * std::pow(v, 1 / 2.4F) - 0.055F; }

/// Returns the difference to the nearer of the two neighbors, so that no edge of an object tilts its surface; zero
/// without one. `side` is the direction to the neighbor with the higher number.
Vec3 slope(const std::vector<Vec3>& points, const std::vector<float>& distances, size_t at, bool has_before,
           bool has_after, size_t stride) {
  const bool before = has_before && distances[at - stride] > 0;
  const bool after = has_after && distances[at + stride] > 0;
  const Vec3 down = before ? points[at] - points[at - stride] : Vec3{};
  const Vec3 up = after ? points[at + stride] - points[at] : Vec3{};
  if (!before) return up;
  if (!after) return down;
  return dot(down, down) < dot(up, up) ? down : up;
}

}  // namespace

Photo reduced_photo(Photo picture, int width, int height) {
  if (picture.width == width && picture.height == height) return picture;
  Photo out{.width = width, .height = height, .rgb = {}};
  out.rgb.resize(3 * size_t(width) * size_t(height));
  const auto range = [](int i, int from, int to) {  // pixels of the picture that pixel i covers, at least one
    const auto begin = int(int64_t(i) * from / to);
    return std::pair{begin, std::max(begin + 1, int(int64_t(i + 1) * from / to))};
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const auto [top, bottom] = range(y, picture.height, height);
      const auto [left, right] = range(x, picture.width, width);
      std::array<float, 3> sum{};
      for (int j = top; j < bottom; ++j)
        for (int i = left; i < right; ++i)
          for (size_t c = 0; c < 3; ++c)
            sum[c] += picture.rgb[3 * (size_t(j) * size_t(picture.width) + size_t(i)) + c];
      const auto count = float((bottom - top) * (right - left));
      for (size_t c = 0; c < 3; ++c)
        out.rgb[3 * (size_t(y) * size_t(width) + size_t(x)) + c] = sum[c] / count;
    }
  return out;
}

Photo photo_of(const View& view, bool black, int width, int height) {
  return reduced_photo({view.camera.width, view.camera.height, ground_truth(view, black)}, width, height);
}

std::string color_bytes(const std::vector<float>& rgb, float exposure) {
  std::string out(rgb.size(), '\0');
  if (exposure == 0) {
    std::ranges::transform(rgb, out.begin(), [](float v) { return char(to_byte(v)); });
    return out;
  }
  std::array<char, kLevels + 1> bytes{};
  for (size_t i = 0; i <= kLevels; ++i)
    bytes[i] = char(to_byte(srgb_of(linear_of(float(i) / kLevels) * std::exp2(exposure))));
  std::ranges::transform(rgb, out.begin(), [&](float v) {
    return bytes[size_t(std::lround(std::clamp(std::isfinite(v) ? v : 0.F, 0.F, 1.F) * kLevels))];
  });
  return out;
}

std::string depth_bytes(const Picture& p) {
  float low = INFINITY, high = 0;
  for (size_t i = 0; i < p.depth.size(); ++i) {
    const float d = distance_at(p, i);
    if (!(d > 0)) continue;
    low = std::min(low, d);
    high = std::max(high, d);
  }
  std::vector<uint8_t> out(3 * p.depth.size(), 0);
  for (size_t i = 0; i < p.depth.size(); ++i)
    if (const float d = distance_at(p, i); d > 0)
      std::fill_n(out.begin() + int64_t(3 * i), 3,
                  to_byte(1 - 0.85F * (d - low) / std::max(high - low, 1e-6F)));
  return as_text(out);
}

std::string normal_bytes(const Picture& p, const Camera& camera) {
  const auto width = size_t(p.width), height = size_t(p.height);
  std::vector<float> distances(width * height);
  std::vector<Vec3> points(width * height);
  for (size_t i = 0; i < distances.size(); ++i) {
    distances[i] = distance_at(p, i);
    const Ray ray = camera.ray(float(i % width) + 0.5F, float(i / width) + 0.5F);
    points[i] = ray.origin + distances[i] * ray.direction;
  }
  std::vector<uint8_t> out(3 * distances.size(), kNothing);
  for (size_t i = 0; i < distances.size(); ++i) {
    if (!(distances[i] > 0)) continue;
    const size_t x = i % width, y = i / width;
    const Vec3 across = slope(points, distances, i, x > 0, x + 1 < width, 1);
    const Vec3 along = slope(points, distances, i, y > 0, y + 1 < height, width);
    Vec3 n = cross(across, along);
    if (!(dot(n, n) > 0)) continue;
    n = normalized(n);
    if (dot(n, camera.position() - points[i]) < 0) n = -1.F * n;
    const float v[3] = {n.x, n.y, n.z};
    for (size_t c = 0; c < 3; ++c) out[3 * i + c] = to_byte(0.5F + 0.5F * v[c]);
  }
  return as_text(out);
}

std::string error_bytes(const Picture& p, const Photo& truth) {
  static constexpr std::array<std::array<float, 3>, 5> kColors = {
      {{0, 0, 0}, {0.55F, 0, 0.15F}, {0.95F, 0.35F, 0.05F}, {1, 0.85F, 0.3F}, {1, 1, 1}}};
  std::vector<uint8_t> out(p.rgb.size());
  for (size_t i = 0; i + 2 < p.rgb.size(); i += 3) {
    float sum = 0;
    for (size_t c = 0; c < 3; ++c) sum += std::abs(std::clamp(p.rgb[i + c], 0.F, 1.F) - truth.rgb[i + c]);
    const float at = std::clamp(sum / 3 / kWorstError, 0.F, 1.F) * float(kColors.size() - 1);
    const size_t low = std::min(size_t(at), kColors.size() - 2);
    const float share = at - float(low);
    for (size_t c = 0; c < 3; ++c)
      out[i + c] = to_byte((1 - share) * kColors[low][c] + share * kColors[low + 1][c]);
  }
  return as_text(out);
}

}  // namespace klab
