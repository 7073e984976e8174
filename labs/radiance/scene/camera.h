// A pinhole camera with OpenCV lens distortion, and a small vector type.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace klab {

struct Vec3 {
  float x = 0, y = 0, z = 0;
};
inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec3 operator*(Vec3 a, Vec3 b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
inline Vec3 operator*(float s, Vec3 a) { return {s * a.x, s * a.y, s * a.z}; }
inline float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec3 cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline float length(Vec3 a) { return std::sqrt(dot(a, a)); }
inline Vec3 normalized(Vec3 a) { return (1.F / length(a)) * a; }

struct Ray {
  Vec3 origin;
  Vec3 direction;  // unit length
};

/// Pixels; (0,0) is the upper left corner of the upper left pixel, whose center is (0.5, 0.5).
struct Camera {
  int width = 0, height = 0;
  float fx = 0, fy = 0, cx = 0, cy = 0;
  float k1 = 0, k2 = 0, p1 = 0, p2 = 0;  // OpenCV radial and tangential distortion
  /// Camera to world, rows of [R | t]. The camera looks along its -z with +y up (OpenGL, Blender,
  /// instant-ngp).
  std::array<float, 12> pose{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

  Vec3 position() const { return {pose[3], pose[7], pose[11]}; }
  Vec3 axis(int column) const {
    const auto c = size_t(column);
    return {pose[c], pose[4 + c], pose[8 + c]};
  }

  /// Returns whether a ray of the world ends at this point of the image. OpenCV's polynomial rises with the
  /// angle to the axis only up to its fold, where its derivative is zero; points further out have no ray.
  bool sees(float u, float v) const;

  /// Returns the ray through a point of the image, in world coordinates. The result is always finite: where
  /// sees() is false the ray begins far outside of every scene and leads away.
  Ray ray(float u, float v) const;

  /// Returns where a world point is seen: {u, v, distance along the viewing axis}; distance <= 0 is behind
  /// the camera. For a point beyond the lens's fold, returns the nearest place on the fold.
  Vec3 project(Vec3 world) const;

  /// Returns where the lens images the ray with the direction (x, y, 1) in the lens's axes (y down), in
  /// pixels; nothing beyond its fold.
  std::optional<std::array<double, 2>> through_lens(double x, double y) const;

  bool distorts() const { return k1 != 0 || k2 != 0 || p1 != 0 || p2 != 0; }

  /// Returns the same camera with an image smaller by `factor` in each direction.
  Camera downscaled(int factor) const;
};

/// Returns the pixels, numbered row by row, whose centers have a ray; null if all have one.
std::shared_ptr<const std::vector<int32_t>> pixels_with_ray(const Camera& camera);

/// Returns a camera at `eye` with `target` in the middle, +z up, and a horizontal field of view in radians.
Camera look_at(Vec3 eye, Vec3 target, int width, int height, float horizontal_fov);

}  // namespace klab
