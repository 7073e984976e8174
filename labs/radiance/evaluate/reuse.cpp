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

/// A camera with its axes at hand. Without distortion, a ray and a point take a few multiplications and no call.
class Lens {
 public:
  explicit Lens(const Camera& camera)
      : camera_(camera),
        eye_(camera.position()),
        right_(camera.axis(0)),
        up_(camera.axis(1)),
        back_(camera.axis(2)),
        bent_(camera.distorts()) {}
  Vec3 eye() const { return eye_; }
  Ray ray(float u, float v) const {
    if (bent_) return camera_.ray(u, v);
    return {eye_,
            normalized((u - camera_.cx) / camera_.fx * right_ - (v - camera_.cy) / camera_.fy * up_ - back_)};
  }
  Vec3 project(Vec3 world) const {
    if (bent_) return camera_.project(world);
    const Vec3 d = world - eye_;
    const float depth = -dot(d, back_);
    return {camera_.cx + camera_.fx * dot(d, right_) / depth, camera_.cy - camera_.fy * dot(d, up_) / depth,
            depth};
  }

 private:
  const Camera& camera_;
  Vec3 eye_, right_, up_, back_;
  bool bent_;
};

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

/// Where the new camera sees a pixel of the old picture, and how far away; kUnknown where it does not.
struct Target {
  float u = 0, v = 0, away = kUnknown;
};

std::vector<Target> targets_of(const std::vector<float>& distances, const Camera& from, const Camera& to) {
  std::vector<Target> targets(distances.size());
  const Lens old(from), now(to);
#pragma omp parallel for schedule(static)
  for (int y = 0; y < from.height; ++y)
    for (int x = 0; x < from.width; ++x) {
      const size_t at = size_t(y) * size_t(from.width) + size_t(x);
      if (distances[at] == kUnknown) continue;
      const bool background = distances[at] == kBackground;
      const Ray ray = old.ray(float(x) + 0.5F, float(y) + 0.5F);
      const Vec3 point = ray.origin + (background ? kFar : distances[at]) * ray.direction;
      const Vec3 seen = now.project(point);
      if (!(seen.z > 0)) continue;
      targets[at] = {seen.x, seen.y, background ? kBackground : length(point - now.eye())};
    }
  return targets;
}

/// Distance from the new camera of the nearest surface at each of its pixels, as the old picture shows them.
std::vector<float> nearest_of(const std::vector<Target>& targets, const Camera& to) {
  std::vector<float> nearest(size_t(to.width) * size_t(to.height), kUnknown);
  for (const Target& target : targets) {
    // A point meets up to four pixels' centers around it; one on the border fewer.
    if (target.away == kUnknown ||
        !(target.u >= -0.5F && target.v >= -0.5F && target.u <= float(to.width) + 0.5F &&
          target.v <= float(to.height) + 0.5F))
      continue;
    const int left = int(std::floor(target.u - 0.5F)), top = int(std::floor(target.v - 0.5F));
    for (int y = std::max(top, 0); y < std::min(top + 2, to.height); ++y)
      for (int x = std::max(left, 0); x < std::min(left + 2, to.width); ++x) {
        float& here = nearest[size_t(y) * size_t(to.width) + size_t(x)];
        if (here == kUnknown || target.away < here) here = target.away;
      }
  }
  return nearest;
}

/// Where the old picture shows the point that lies `away`, which is made exact, along a ray of the new camera; nothing where it shows
/// something else.
std::optional<Around> place_of(const Ray& ray, float& away, const std::vector<float>& distances,
                               const Camera& from, const Lens& old) {
  const bool background = away == kBackground;
  // The first guess is the nearest of a few pixels. The surface at that place tells the distance better.
  for (int round = 0; round < 2; ++round) {
    const Vec3 point = ray.origin + (background ? kFar : away) * ray.direction;
    const Vec3 seen = old.project(point);
    if (!(seen.z > 0)) return std::nullopt;
    const auto place = around(seen.x, seen.y, from.width, from.height);
    if (!place) return std::nullopt;
    const float expected = length(point - old.eye());
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
  std::vector<float> nearest = nearest_of(targets_of(distances, from, to), to);
  Reprojected out{.picture = Renderer::empty_picture(to), .known = std::vector<uint8_t>(nearest.size(), 0)};
  Picture& picture = out.picture;
  const Lens old(from), now(to);
#pragma omp parallel for schedule(dynamic, 8)
  for (int y = 0; y < to.height; ++y)
    for (int x = 0; x < to.width; ++x) {
      const size_t at = size_t(y) * size_t(to.width) + size_t(x);
      if (nearest[at] == kUnknown) continue;
      const Ray ray = now.ray(float(x) + 0.5F, float(y) + 0.5F);
      const auto place = place_of(ray, nearest[at], distances, from, old);
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
