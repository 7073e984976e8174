#include "labs/radiance/scene/camera.h"

namespace klab {
namespace {

struct Point {
  float x, y;
};

// OpenCV's model: distorted = radial(r²)·p + tangential.
Point distort(const Camera& c, Point p) {
  const float r2 = p.x * p.x + p.y * p.y;
  const float radial = 1.F + r2 * (c.k1 + r2 * c.k2);
  return {p.x * radial + 2 * c.p1 * p.x * p.y + c.p2 * (r2 + 2 * p.x * p.x),
          p.y * radial + 2 * c.p2 * p.x * p.y + c.p1 * (r2 + 2 * p.y * p.y)};
}

// Newton's method on distort(p) = q with a numerical Jacobian; lenses of photographs converge in a few steps.
Point undistort(const Camera& c, Point q) {
  if (c.k1 == 0 && c.k2 == 0 && c.p1 == 0 && c.p2 == 0) return q;
  Point p = q;
  for (int i = 0; i < 20; ++i) {
    const float h = 1e-3F;
    const Point d = distort(c, p);
    const Point ex = {d.x - q.x, d.y - q.y};
    if (std::abs(ex.x) + std::abs(ex.y) <= 1e-7F) break;
    const Point px = distort(c, {p.x + h, p.y}), mx = distort(c, {p.x - h, p.y});
    const Point py = distort(c, {p.x, p.y + h}), my = distort(c, {p.x, p.y - h});
    const float a = (px.x - mx.x) / (2 * h), b = (py.x - my.x) / (2 * h);
    const float e = (px.y - mx.y) / (2 * h), f = (py.y - my.y) / (2 * h);
    const float det = a * f - b * e;
    if (!(std::abs(det) > 1e-6F)) break;
    p.x -= (f * ex.x - b * ex.y) / det;
    p.y -= (a * ex.y - e * ex.x) / det;
  }
  return p;
}

}  // namespace

Ray Camera::ray(float u, float v) const {
  const Point p = undistort(*this, {(u - cx) / fx, (v - cy) / fy});
  const Vec3 d = p.x * axis(0) - p.y * axis(1) - axis(2);
  return {position(), normalized(d)};
}

Vec3 Camera::project(Vec3 world) const {
  const Vec3 d = world - position();
  const float depth = -dot(d, axis(2));
  if (depth <= 0) return {0, 0, depth};
  const Point p = distort(*this, {dot(d, axis(0)) / depth, -dot(d, axis(1)) / depth});
  return {fx * p.x + cx, fy * p.y + cy, depth};
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
