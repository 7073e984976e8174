#include "labs/radiance/scene/scene_picture.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

constexpr Vec3 kMiddle{0.5F, 0.5F, 0.5F};
constexpr size_t kMostPoints = 20000;

struct Ink {
  uint8_t rgb[3];
};
constexpr Ink kBox{{30, 30, 30}}, kUnit{{170, 170, 170}}, kTrain{{40, 90, 200}}, kTest{{230, 120, 20}};

/// A square part of a picture, and a camera that projects points of the scene into it.
class Panel {
 public:
  Panel(Image& image, int left, const Camera& camera) : image_(image), left_(left), camera_(camera) {}

  void dot(Vec3 p, Ink ink) {
    const Vec3 at = camera_.project(p);
    if (at.z > 0) set(at.x, at.y, ink);
  }

  void line(Vec3 a, Vec3 b, Ink ink) {
    const Vec3 p = camera_.project(a), q = camera_.project(b);
    if (p.z <= 0 || q.z <= 0) return;
    const float dx = q.x - p.x, dy = q.y - p.y;
    // Limits the steps of lines that end far outside of the picture.
    const int steps = int(std::clamp(std::max(std::abs(dx), std::abs(dy)) * 1.5F, 1.0F, 20000.0F));
    for (int i = 0; i <= steps; ++i) {
      const float f = float(i) / float(steps);
      set(p.x + f * dx, p.y + f * dy, ink);
    }
  }

 private:
  void set(float x, float y, Ink ink) {
    if (!(x >= 0 && y >= 0 && x < float(camera_.width) && y < float(camera_.height))) return;
    const size_t at = size_t(int(y)) * size_t(image_.width) + size_t(left_ + int(x));
    std::copy_n(ink.rgb, 3, image_.rgba.begin() + std::ptrdiff_t(4 * at));
  }

  Image& image_;
  int left_;
  Camera camera_;
};

void draw_cube(Panel& panel, float side, Ink ink) {
  const auto corner = [&](int k) {
    const auto along = [&](int bit) { return 0.5F + side * (float(k >> bit & 1) - 0.5F); };
    return Vec3{along(0), along(1), along(2)};
  };
  for (int a = 0; a < 8; ++a)
    for (int bit = 0; bit < 3; ++bit)
      if ((a >> bit & 1) == 0) panel.line(corner(a), corner(a | 1 << bit), ink);
}

void draw_camera(Panel& panel, const Camera& c, float length, Ink ink) {
  const float right = 0.5F * float(c.width) / c.fx * length, up = 0.5F * float(c.height) / c.fy * length;
  const Vec3 at = c.position();
  const auto corner = [&](float x, float y) {
    return at - length * c.axis(2) + (x * right) * c.axis(0) + (y * up) * c.axis(1);
  };
  const Vec3 corners[] = {corner(-1, 1), corner(1, 1), corner(1, -1), corner(-1, -1)};
  for (size_t k = 0; k < 4; ++k) {
    panel.line(at, corners[k], ink);
    panel.line(corners[k], corners[(k + 1) % 4], ink);
  }
  panel.line(corner(-1, 1.15F), corner(1, 1.15F), ink);
}

/// Returns the distance from the center to the farthest camera or corner of the box.
float reach_of(const Scene& scene) {
  float reach = 0.87F * scene.side();
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& view : *set) reach = std::max(reach, length(view.camera.position() - kMiddle));
  return reach;
}

void draw(const Scene& scene, float reach, Panel& panel) {
  const size_t step = scene.points.size() / kMostPoints + 1;
  for (size_t i = 0; i < scene.points.size(); i += step) {
    const ScenePoint& p = scene.points[i];
    panel.dot(p.position, {{p.rgb[0], p.rgb[1], p.rgb[2]}});
  }
  if (scene.cascades > 1) draw_cube(panel, 1, kUnit);
  draw_cube(panel, scene.side(), kBox);
  for (const View& view : scene.train) draw_camera(panel, view.camera, 0.07F * reach, kTrain);
  for (const View& view : scene.test) draw_camera(panel, view.camera, 0.07F * reach, kTest);
}

}  // namespace

Image scene_picture(const Scene& scene, int side) {
  Image image{.width = 2 * side, .height = side, .has_alpha = false, .rgba = {}};
  image.rgba.assign(size_t(image.width) * size_t(side) * 4, 255);
  const float reach = reach_of(scene);
  constexpr float kAngle = 0.7F;  // of both views, radians
  const float away = 1.1F * reach / std::sin(kAngle / 2);
  for (int k = 0; k < 2; ++k) {
    const Vec3 from = k == 0 ? Vec3{0.55F, -0.7F, 0.45F} : Vec3{0, 0, 1};
    Camera camera = look_at(kMiddle + away * normalized(from), kMiddle, side, side, kAngle);
    Panel panel(image, k * side, camera);
    draw(scene, reach, panel);
  }
  return image;
}

}  // namespace klab
