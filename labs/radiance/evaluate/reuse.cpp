#include "labs/radiance/evaluate/reuse.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace klab {
namespace {

constexpr float kSolid = 0.98F,
                kEmpty = 0.02F;     // opacity from which, and up to which, a pixel shows one thing
constexpr float kDepthOff = 0.01F;  // of its distance by which a point may lie off a surface
constexpr float kFar = 1e3F;        // in grid units: behind everything
constexpr float kUnknown = -1, kBackground = std::numeric_limits<float>::infinity();

Vec3 middle_ray_point(const Camera& camera, int x, int y, float distance) {
  const Ray ray = camera.ray(float(x) + 0.5F, float(y) + 0.5F);
  return ray.origin + distance * ray.direction;
}

/// Distance of what each pixel shows: kBackground of an empty one, kUnknown of one that shows several things.
std::vector<float> distances_of(const Picture& p) {
  std::vector<float> distances(p.opacity.size(), kUnknown);
  for (size_t i = 0; i < distances.size(); ++i) {
    if (p.opacity[i] <= kEmpty) distances[i] = kBackground;
    if (p.opacity[i] >= kSolid) distances[i] = p.depth[i] / p.opacity[i];
  }
  return distances;
}

/// Pixels around a point of an image, with weights between their centers. Nothing where not all four lie in the image.
struct Around {
  std::array<size_t, 4> pixel;
  std::array<float, 4> weight;
};
std::optional<Around> around(float u, float v, int width, int height) {
  const float x = u - 0.5F, y = v - 0.5F;
  if (!(x >= 0 && y >= 0 && x <= float(width - 1) && y <= float(height - 1))) return std::nullopt;
  const int left = std::min(int(x), width - 2), top = std::min(int(y), height - 2);
  const float right = x - float(left), low = y - float(top);
  const auto at = [&](int dx, int dy) { return size_t(top + dy) * size_t(width) + size_t(left + dx); };
  return Around{{at(0, 0), at(1, 0), at(0, 1), at(1, 1)},
                {(1 - right) * (1 - low), right * (1 - low), (1 - right) * low, right * low}};
}

/// Distance from the new camera of the nearest surface at each of its pixels, as the old picture shows them.
std::vector<float> nearest_of(const std::vector<float>& distances, const Camera& from, const Camera& to) {
  std::vector<float> nearest(size_t(to.width) * size_t(to.height), kUnknown);
  for (int y = 0; y < from.height; ++y)
    for (int x = 0; x < from.width; ++x) {
      const float distance = distances[size_t(y) * size_t(from.width) + size_t(x)];
      if (distance == kUnknown) continue;
      const bool background = distance == kBackground;
      const Vec3 point = middle_ray_point(from, x, y, background ? kFar : distance);
      const Vec3 seen = to.project(point);
      if (!(seen.z > 0)) continue;
      const float away = background ? kBackground : length(point - to.position());
      const int left = int(std::floor(seen.x - 0.5F)), top = int(std::floor(seen.y - 0.5F));
      for (int dy = 0; dy < 2; ++dy)
        for (int dx = 0; dx < 2; ++dx) {
          if (left + dx < 0 || left + dx >= to.width || top + dy < 0 || top + dy >= to.height) continue;
          float& here = nearest[size_t(top + dy) * size_t(to.width) + size_t(left + dx)];
          if (here == kUnknown || away < here) here = away;
        }
    }
  return nearest;
}

/// Where the old picture shows the point that lies `away`, which is made exact, along a ray of the new camera; nothing where it shows
/// something else.
std::optional<Around> place_of(const Ray& ray, float& away, const std::vector<float>& distances,
                               const Camera& from) {
  const bool background = away == kBackground;
  // The first guess is the nearest of a few pixels. The surface at that place tells the distance better.
  for (int round = 0; round < 2; ++round) {
    const Vec3 point = ray.origin + (background ? kFar : away) * ray.direction;
    const Vec3 seen = from.project(point);
    if (!(seen.z > 0)) return std::nullopt;
    const auto place = around(seen.x, seen.y, from.width, from.height);
    if (!place) return std::nullopt;
    const float expected = length(point - from.position());
    float mean = 0;
    for (size_t k = 0; k < 4; ++k) {
      const float d = distances[place->pixel[k]];
      if (background ? d != kBackground : !(std::abs(d - expected) <= kDepthOff * expected))
        return std::nullopt;
      mean += place->weight[k] * d;
    }
    if (background || round == 1) return place;
    away += mean - expected;  // the two rays are nearly parallel
  }
  return std::nullopt;
}

bool same_lens(const Camera& a, const Camera& b) {
  const auto lens = [](const Camera& c) {
    return std::array{c.fx, c.fy, c.cx, c.cy, c.k1, c.k2, c.p1, c.p2};
  };
  return a.width == b.width && a.height == b.height && lens(a) == lens(b);
}

}  // namespace

Reprojected reproject(const Picture& seen, const Camera& from, const Camera& to) {
  const std::vector<float> distances = distances_of(seen);
  std::vector<float> nearest = nearest_of(distances, from, to);
  Reprojected out{.picture = Renderer::empty_picture(to), .known = std::vector<uint8_t>(nearest.size(), 0)};
  Picture& picture = out.picture;
#pragma omp parallel for schedule(dynamic, 8)
  for (int y = 0; y < to.height; ++y)
    for (int x = 0; x < to.width; ++x) {
      const size_t at = size_t(y) * size_t(to.width) + size_t(x);
      if (nearest[at] == kUnknown) continue;
      const Ray ray = to.ray(float(x) + 0.5F, float(y) + 0.5F);
      const auto place = place_of(ray, nearest[at], distances, from);
      if (!place) continue;
      out.known[at] = 1;
      for (size_t k = 0; k < 4; ++k) {
        for (size_t c = 0; c < 3; ++c)
          picture.rgb[3 * at + c] += place->weight[k] * seen.rgb[3 * place->pixel[k] + c];
        picture.opacity[at] += place->weight[k] * seen.opacity[place->pixel[k]];
      }
      if (nearest[at] != kBackground) picture.depth[at] = nearest[at] * picture.opacity[at];
    }
  return out;
}

ReusedPictures::ReusedPictures(std::function<Picture(const Camera&)> draw, int every)
    : draw_(std::move(draw)), every_(every) {}

// Tiles next to each other are drawn together.
void ReusedPictures::draw_unknown(const Camera& camera, Reprojected& known) {
  const auto has_unknown = [&](int left, int top) {
    for (int y = top; y < std::min(top + kTile, camera.height); ++y)
      for (int x = left; x < std::min(left + kTile, camera.width); ++x)
        if (known.known[size_t(y) * size_t(camera.width) + size_t(x)] == 0) return true;
    return false;
  };
  for (int top = 0; top < camera.height; top += kTile)
    for (int left = 0; left < camera.width; left += kTile) {
      const int begin = left;
      while (left < camera.width && has_unknown(left, top)) left += kTile;
      if (left == begin) continue;
      Camera part = camera;
      part.width = std::min(left, camera.width) - begin;
      part.height = std::min(kTile, camera.height - top);
      part.cx -= float(begin);
      part.cy -= float(top);
      const Picture drawn = draw_(part);
      drawn_ += int64_t(part.width) * part.height;
      for (int y = 0; y < part.height; ++y) {
        const size_t from = size_t(y) * size_t(part.width),
                     to = size_t(top + y) * size_t(camera.width) + size_t(begin);
        std::copy_n(drawn.rgb.begin() + std::ptrdiff_t(3 * from), 3 * part.width,
                    known.picture.rgb.begin() + std::ptrdiff_t(3 * to));
        std::copy_n(drawn.opacity.begin() + std::ptrdiff_t(from), part.width,
                    known.picture.opacity.begin() + std::ptrdiff_t(to));
      }
    }
}

Picture ReusedPictures::next(const Camera& camera) {
  const int64_t pixels = int64_t(camera.width) * camera.height;
  pixels_ += pixels;
  if (whole_.width == 0 || since_ + 1 >= every_ || !same_lens(camera, camera_) || camera.width < 2 ||
      camera.height < 2) {
    whole_ = draw_(camera);
    camera_ = camera;
    since_ = 0;
    drawn_ += pixels;
    return whole_;
  }
  ++since_;
  Reprojected known = reproject(whole_, camera_, camera);
  known.picture.depth.clear();  // what is drawn between need not have one
  draw_unknown(camera, known);
  return std::move(known.picture);
}

}  // namespace klab
