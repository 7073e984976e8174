#include "labs/radiance/scene/camera.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace klab {
namespace {

struct Point {
  double x, y;
};

// OpenCV's model: distorted = radial(r²)·p + tangential.
Point distort(const Camera& c, Point p) {
  const double r2 = p.x * p.x + p.y * p.y;
  const double radial = 1 + r2 * (c.k1 + r2 * c.k2);
  return {p.x * radial + 2 * c.p1 * p.x * p.y + c.p2 * (r2 + 2 * p.x * p.x),
          p.y * radial + 2 * c.p2 * p.x * p.y + c.p1 * (r2 + 2 * p.y * p.y)};
}

// Returns r² of the fold: the first zero of the derivative of r·(1 + k1·r² + k2·r⁴). Infinite if there is
// none.
double fold_of(const Camera& c) {
  const double a = 5.0 * c.k2, b = 3.0 * c.k1;
  const double none = std::numeric_limits<double>::infinity();
  const double d = b * b - 4 * a;
  if (d < 0 || (a == 0 && b >= 0)) return none;
  // The roots of a·s² + b·s + 1 = 0, without subtracting nearly equal numbers.
  const double q = -0.5 * (b + std::copysign(std::sqrt(d), b));
  const double roots[] = {q != 0 ? 1 / q : -1, a != 0 ? q / a : -1};
  double least = none;
  for (const double s : roots)
    if (s > 0) least = std::min(least, s);
  return least;
}

double squared(Point p) { return p.x * p.x + p.y * p.y; }

// Solves distort(p) = q by Newton's method inside the fold; it converges in a few steps for lenses of
// photographs.
std::optional<Point> undistort(const Camera& c, Point q) {
  if (!c.distorts()) return q;
  const double fold = fold_of(c), bound = 1e-10 * (1 + std::sqrt(squared(q)));
  const auto inside = [&](Point p) { return squared(p) < fold; };
  Point p = q;
  if (!inside(p)) {
    const double shorter = 0.9 * std::sqrt(fold / squared(q));
    p = {q.x * shorter, q.y * shorter};
  }
  for (int i = 0; i < 60; ++i) {
    const Point d = distort(c, p);
    const Point error = {d.x - q.x, d.y - q.y};
    if (std::abs(error.x) + std::abs(error.y) <= bound) return p;
    const double r2 = squared(p), radial = 1 + r2 * (c.k1 + r2 * c.k2), slope = 2 * (c.k1 + 2 * r2 * c.k2);
    const double xx = radial + p.x * p.x * slope + 2 * c.p1 * p.y + 6 * c.p2 * p.x;
    const double yy = radial + p.y * p.y * slope + 2 * c.p2 * p.x + 6 * c.p1 * p.y;
    const double xy = p.x * p.y * slope + 2 * c.p1 * p.x + 2 * c.p2 * p.y;
    const double det = xx * yy - xy * xy;
    if (!(std::abs(det) > 1e-12)) return std::nullopt;
    Point step = {(yy * error.x - xy * error.y) / det, (xx * error.y - xy * error.x) / det};
    Point next = {p.x - step.x, p.y - step.y};
    for (int halved = 0; halved < 30 && !inside(next); ++halved) {
      step = {0.5 * step.x, 0.5 * step.y};
      next = {p.x - step.x, p.y - step.y};
    }
    if (!inside(next)) return std::nullopt;
    p = next;
  }
  return std::nullopt;
}

std::optional<Point> in_front_of_lens(const Camera& c, float u, float v) {
  return undistort(c, {(double(u) - c.cx) / c.fx, (double(v) - c.cy) / c.fy});
}

}  // namespace

bool Camera::sees(float u, float v) const { return in_front_of_lens(*this, u, v).has_value(); }

Ray Camera::ray(float u, float v) const {
  const auto p = in_front_of_lens(*this, u, v);
  if (!p) return {{1e4F, 1e4F, 1e4F}, normalized({1, 1, 1})};
  const Vec3 d = float(p->x) * axis(0) - float(p->y) * axis(1) - axis(2);
  return {position(), normalized(d)};
}

Vec3 Camera::project(Vec3 world) const {
  const Vec3 d = world - position();
  const float depth = -dot(d, axis(2));
  if (depth <= 0) return {0, 0, depth};
  Point p = {dot(d, axis(0)) / depth, -dot(d, axis(1)) / depth};
  if (distorts())
    if (const double fold = fold_of(*this); squared(p) > fold) {
      const double shorter = std::sqrt(fold / squared(p));
      p = {p.x * shorter, p.y * shorter};
    }
  p = distort(*this, p);
  return {float(fx * p.x + cx), float(fy * p.y + cy), depth};
}

std::optional<std::array<double, 2>> Camera::through_lens(double x, double y) const {
  Point p = {x, y};
  if (distorts()) {
    if (!(squared(p) < fold_of(*this))) return std::nullopt;
    p = distort(*this, p);
  }
  return std::array{double(fx) * p.x + cx, double(fy) * p.y + cy};
}

std::shared_ptr<const std::vector<int32_t>> pixels_with_ray(const Camera& c) {
  if (!c.distorts()) return nullptr;
  const auto seen = [&](int x, int y) { return c.sees(float(x) + 0.5F, float(y) + 0.5F); };
  // Pixels with a ray lie around the lens's axis without holes or bays: if the border has rays, so has the
  // inside.
  bool all = true;
  for (int x = 0; x < c.width && all; ++x) all = seen(x, 0) && seen(x, c.height - 1);
  for (int y = 0; y < c.height && all; ++y) all = seen(0, y) && seen(c.width - 1, y);
  if (all) return nullptr;
  std::vector<std::vector<int32_t>> rows(size_t(c.height));
#pragma omp parallel for schedule(dynamic, 16)
  for (int y = 0; y < c.height; ++y)
    for (int x = 0; x < c.width; ++x)
      if (seen(x, y)) rows[size_t(y)].push_back(y * c.width + x);
  auto pixels = std::make_shared<std::vector<int32_t>>();
  for (const auto& row : rows) pixels->insert(pixels->end(), row.begin(), row.end());
  return pixels;
}

Camera Camera::downscaled(int factor) const {
  Camera c = *this;
  c.width /= factor;
  c.height /= factor;
  for (float* f : {&c.fx, &c.fy, &c.cx, &c.cy}) *f /= float(factor);
  return c;
}

Camera look_at(Vec3 eye, Vec3 target, int width, int height, float horizontal_fov) {
  const Vec3 back = normalized(eye - target);
  const Vec3 up = std::abs(back.z) > 0.999F ? Vec3{0, 1, 0} : Vec3{0, 0, 1};
  const Vec3 right = normalized(cross(up, back));
  const Vec3 above = cross(back, right);
  Camera c;
  c.width = width;
  c.height = height;
  c.fx = c.fy = 0.5F * float(width) / std::tan(0.5F * horizontal_fov);
  c.cx = 0.5F * float(width);
  c.cy = 0.5F * float(height);
  c.pose = {right.x, above.x, back.x,  eye.x,   right.y, above.y,
            back.y,  eye.y,   right.z, above.z, back.z,  eye.z};
  return c;
}

}  // namespace klab
