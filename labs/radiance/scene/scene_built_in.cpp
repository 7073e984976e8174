// The built-in scene: a few textured and glossy objects over a checkered disk, ray-traced at run time, with
// exact depth. It needs no file, and it gives ground truth that photographs cannot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "labs/radiance/scene/scene.h"

namespace klab {
namespace {

// World space is the unit cube itself: the scene's box.
enum class ObjectKind { sphere, box, disk };
enum class Texture { plain, checker, stripes, marble };

struct Object {
  ObjectKind kind;
  Vec3 center;
  Vec3 size;  // sphere: radius in x; box: half extents; disk: radius in x
  Texture texture;
  Vec3 color, second;
  float gloss;  // strength of the highlight and of the mirror image
};

struct Hit {
  float t = std::numeric_limits<float>::infinity();
  Vec3 normal;
  const Object* object = nullptr;
};

bool hit_sphere(const Object& o, const Ray& r, Hit& h) {
  const Vec3 d = r.origin - o.center;
  const float b = dot(d, r.direction), c = dot(d, d) - o.size.x * o.size.x;
  const float disc = b * b - c;
  if (disc <= 0) return false;
  const float t = -b - std::sqrt(disc);
  if (t <= 1e-4F || t >= h.t) return false;
  h = {t, (1.F / o.size.x) * (d + t * r.direction), &o};
  return true;
}

bool hit_box(const Object& o, const Ray& r, Hit& h) {
  const float p[3] = {r.origin.x - o.center.x, r.origin.y - o.center.y, r.origin.z - o.center.z};
  const float d[3] = {r.direction.x, r.direction.y, r.direction.z};
  const float s[3] = {o.size.x, o.size.y, o.size.z};
  float enter = 1e-4F, leave = h.t;
  int axis = -1;
  for (int i = 0; i < 3; ++i) {
    const float inv = 1.F / (std::abs(d[i]) < 1e-9F ? std::copysign(1e-9F, d[i]) : d[i]);
    const float t0 = (std::copysign(-s[i], d[i]) - p[i]) * inv, t1 = (std::copysign(s[i], d[i]) - p[i]) * inv;
    if (t0 > enter) enter = t0, axis = i;
    leave = std::min(leave, t1);
  }
  if (axis < 0 || enter >= leave) return false;
  float n[3] = {0, 0, 0};
  n[axis] = -std::copysign(1.F, d[axis]);
  h = {enter, {n[0], n[1], n[2]}, &o};
  return true;
}

bool hit_disk(const Object& o, const Ray& r, Hit& h) {
  if (std::abs(r.direction.z) < 1e-9F) return false;
  const float t = (o.center.z - r.origin.z) / r.direction.z;
  if (t <= 1e-4F || t >= h.t) return false;
  const Vec3 p = r.origin + t * r.direction - o.center;
  if (p.x * p.x + p.y * p.y > o.size.x * o.size.x) return false;
  h = {t, {0, 0, r.direction.z < 0 ? 1.F : -1.F}, &o};
  return true;
}

Hit nearest(const std::vector<Object>& objects, const Ray& ray) {
  Hit h;
  for (const Object& o : objects) {
    switch (o.kind) {
      case ObjectKind::sphere:
        hit_sphere(o, ray, h);
        break;
      case ObjectKind::box:
        hit_box(o, ray, h);
        break;
      case ObjectKind::disk:
        hit_disk(o, ray, h);
        break;
    }
  }
  return h;
}

Vec3 albedo(const Object& o, Vec3 p) {
  const Vec3 q = p - o.center;
  float mix = 0;
  switch (o.texture) {
    case Texture::plain:
      break;
    case Texture::checker:
      mix = float((int(std::floor(p.x * 14)) + int(std::floor(p.y * 14)) + int(std::floor(p.z * 14 + 0.5F))) &
                  1);
      break;
    case Texture::stripes:
      mix = std::sin(70 * q.z + 25 * q.x) > 0 ? 1.F : 0.F;
      break;
    case Texture::marble:
      mix = 0.5F + 0.5F * std::sin(40 * q.x + 6 * std::sin(30 * q.y) + 5 * std::sin(35 * q.z));
      break;
  }
  return o.color + mix * (o.second - o.color);
}

const Vec3 kLight = normalized({0.5F, -0.4F, 0.9F});
const Vec3 kSky{1, 1, 1};

Vec3 shade(const std::vector<Object>& objects, const Ray& ray, const Hit& h, int bounce) {
  const Vec3 p = ray.origin + h.t * ray.direction;
  const Vec3 n = h.normal;
  const Vec3 base = albedo(*h.object, p);
  const Ray shadow{p + 1e-3F * n, kLight};
  const bool lit = dot(n, kLight) > 0 && nearest(objects, shadow).object == nullptr;
  const float diffuse = 0.35F + 0.15F * n.z + (lit ? 0.5F * dot(n, kLight) : 0.F);
  Vec3 color = diffuse * base;
  if (h.object->gloss > 0) {
    const Vec3 mirrored = ray.direction - 2 * dot(ray.direction, n) * n;
    if (lit)
      color = color + h.object->gloss * std::pow(std::max(0.F, dot(mirrored, kLight)), 40.F) * Vec3{1, 1, 1};
    if (bounce > 0) {
      const Ray next{p + 1e-3F * n, normalized(mirrored)};
      const Hit seen = nearest(objects, next);
      const Vec3 image = seen.object ? shade(objects, next, seen, bounce - 1) : kSky;
      color = color + 0.3F * h.object->gloss * (image - color);
    }
  }
  return color;
}

std::vector<Object> make_objects(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> u(-1, 1);
  const auto jitter = [&](float amount) { return amount * u(random); };
  std::vector<Object> o;
  o.push_back({ObjectKind::disk,
               {0.5F, 0.5F, 0.2F},
               {0.42F, 0, 0},
               Texture::checker,
               {0.85F, 0.82F, 0.75F},
               {0.25F, 0.3F, 0.38F},
               0});
  o.push_back({ObjectKind::sphere,
               {0.42F + jitter(0.02F), 0.55F, 0.36F},
               {0.16F, 0, 0},
               Texture::marble,
               {0.8F, 0.2F, 0.12F},
               {0.98F, 0.75F, 0.4F},
               0.5F});
  o.push_back({ObjectKind::box,
               {0.66F, 0.66F + jitter(0.02F), 0.32F},
               {0.1F, 0.1F, 0.12F},
               Texture::stripes,
               {0.1F, 0.35F, 0.65F},
               {0.9F, 0.9F, 0.85F},
               0.15F});
  o.push_back({ObjectKind::sphere,
               {0.66F, 0.36F, 0.28F},
               {0.08F, 0, 0},
               Texture::plain,
               {0.75F, 0.78F, 0.8F},
               {},
               1.F});
  o.push_back({ObjectKind::box,
               {0.36F, 0.3F, 0.25F},
               {0.06F, 0.06F, 0.05F},
               Texture::checker,
               {0.2F, 0.6F, 0.3F},
               {0.95F, 0.95F, 0.6F},
               0});
  o.push_back({ObjectKind::sphere,
               {0.36F, 0.3F, 0.34F},
               {0.045F, 0, 0},
               Texture::stripes,
               {0.95F, 0.6F, 0.1F},
               {0.4F, 0.1F, 0.5F},
               0.3F});
  o.push_back({ObjectKind::sphere,
               {0.66F, 0.66F, 0.51F},
               {0.07F, 0, 0},
               Texture::plain,
               {0.5F, 0.15F, 0.45F},
               {},
               0.6F});
  return o;
}

View render_view(const std::vector<Object>& objects, const Camera& camera, const std::string& name) {
  View view;
  view.name = name;
  view.camera = camera;
  view.image.width = camera.width;
  view.image.height = camera.height;
  view.image.has_alpha = true;
  view.image.rgba.resize(size_t(camera.width) * size_t(camera.height) * 4);
  view.depth.resize(size_t(camera.width) * size_t(camera.height));
  constexpr int kGrid = 3;  // rays of a pixel in each direction
#pragma omp parallel for schedule(dynamic, 4)
  for (int y = 0; y < camera.height; ++y) {
    for (int x = 0; x < camera.width; ++x) {
      Vec3 sum;
      int covered = 0;
      for (int s = 0; s < kGrid * kGrid; ++s) {
        const int row = s / kGrid, column = s % kGrid;
        const Ray ray =
            camera.ray(float(x) + (float(column) + 0.5F) / kGrid, float(y) + (float(row) + 0.5F) / kGrid);
        const Hit h = nearest(objects, ray);
        if (!h.object) continue;
        const Vec3 c = shade(objects, ray, h, 1);
        sum = sum + Vec3{std::min(c.x, 1.F), std::min(c.y, 1.F), std::min(c.z, 1.F)};
        ++covered;
      }
      const size_t at = size_t(y) * size_t(camera.width) + size_t(x);
      uint8_t* out = view.image.rgba.data() + at * 4;
      const float inv = covered ? 1.F / float(covered) : 0.F;
      out[0] = to_byte(sum.x * inv);
      out[1] = to_byte(sum.y * inv);
      out[2] = to_byte(sum.z * inv);
      out[3] = to_byte(float(covered) / (kGrid * kGrid));
      const Hit center = nearest(objects, camera.ray(float(x) + 0.5F, float(y) + 0.5F));
      view.depth[at] = center.object ? center.t : 0.F;
    }
  }
  return view;
}

// Places cameras evenly on the upper part of a sphere (golden-angle spiral); `phase` in [0,1) shifts the set.
// Without pictures, the views have names and cameras only.
std::vector<View> render_set(const std::vector<Object>& objects, int count, float phase, int size,
                             const char* prefix, bool pictures) {
  std::vector<View> views;
  for (int i = 0; i < count; ++i) {
    const float height = 0.12F + 0.78F * (float(i) + 0.5F) / float(count);
    const float angle = 2.39996323F * (float(i) + phase);
    const float ring = std::sqrt(1 - height * height);
    const Vec3 direction{ring * std::cos(angle), ring * std::sin(angle), height};
    const Vec3 target{0.5F, 0.5F, 0.32F};
    const Camera camera = look_at(target + 1.35F * direction, target, size, size, 0.69F);
    const std::string name = fmt::format("{}_{}", prefix, i);
    if (pictures) {
      views.push_back(render_view(objects, camera, name));
    } else {
      views.emplace_back();
      views.back().name = name;
      views.back().camera = camera;
    }
  }
  return views;
}

}  // namespace

Scene built_in_scene(const SceneOptions& options) {
  const int size = 320 / options.downscale;
  if (size < 8)
    throw std::invalid_argument("--downscale leaves fewer than 8 pixels of the built-in scene's 320");
  Scene scene;
  scene.name = "built-in";
  scene.format = "built in";
  scene.near = 0.05F;
  // On one color a fog of that color would pass for the sky, and a hole for a spot.
  scene.background = "random";
  constexpr int kTrain = 72, kTest = 12;
  if (options.say)
    options.say(
        fmt::format("scene     built-in (made here, seed {})\nviews     {} for training, {} for "
                    "testing\npicture   {}x{}, with depth\n"
                    "box       the unit cube\nmemory    {:.0f} MB for the pictures",
                    options.seed, kTrain, kTest, size, size, double(kTrain + kTest) * size * size * 8e-6));
  const std::vector<Object> objects = make_objects(options.seed);
  const bool pictures = options.pictures != SceneOptions::Pictures::none;
  scene.train = render_set(objects, kTrain, 0.F, size, "train", pictures);
  scene.test = render_set(objects, kTest, 0.37F, size, "test", pictures);
  return scene;
}

}  // namespace klab
