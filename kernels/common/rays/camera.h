// A ray through a pixel, on processors and GPUs alike: pinhole camera and OpenCV's lens distortion, as in
// draw_rays.
#pragma once

#include <cmath>

#if defined(__CUDACC__) || defined(KLAB_SIMT)
#define KLAB_CAMERA_HERE __host__ __device__ inline
#else
#define KLAB_CAMERA_HERE inline
#endif

namespace klab {

struct PixelRay {
  float origin[3], direction[3];
};

/// Returns r² of the lens's fold, where the derivative of r·(1 + k1·r² + k2·r⁴) is zero first; a huge number
/// if it never is.
KLAB_CAMERA_HERE double lens_fold(double k1, double k2) {
  const double none = 1e300, a = 5 * k2, b = 3 * k1, d = b * b - 4 * a;
  if (d < 0 || (a == 0 && b >= 0)) return none;
  // The roots of a·s² + b·s + 1 = 0, without a difference of like numbers.
  const double root = sqrt(d), q = -0.5 * (b < 0 ? b - root : b + root);
  const double one = q != 0 ? 1 / q : -1, other = a != 0 ? q / a : -1;
  double least = none;
  if (one > 0 && one < least) least = one;
  if (other > 0 && other < least) least = other;
  return least;
}

/// Inverts the lens of camera `c` at (x, y) by at most `steps` steps of Newton's method inside the fold.
/// Returns false if no point maps to (x, y).
KLAB_CAMERA_HERE bool undo_lens(const float* c, int steps, double& x, double& y) {
  const double k1 = double(c[4]), k2 = double(c[5]), p1 = double(c[6]), p2 = double(c[7]);
  const double qx = x, qy = y, fold = lens_fold(k1, k2), far = qx * qx + qy * qy;
  const double enough = 1e-10 * (1 + sqrt(far));
  if (!(far < fold)) {
    const double shorter = 0.9 * sqrt(fold / far);
    x *= shorter;
    y *= shorter;
  }
  for (int i = 0; i < steps; ++i) {
    const double r2 = x * x + y * y, radial = 1 + r2 * (k1 + r2 * k2), slope = 2 * (k1 + 2 * r2 * k2);
    const double ex = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x) - qx;
    const double ey = y * radial + 2 * p2 * x * y + p1 * (r2 + 2 * y * y) - qy;
    if (fabs(ex) + fabs(ey) <= enough) return true;
    const double xx = radial + x * x * slope + 2 * p1 * y + 6 * p2 * x;
    const double xy = x * y * slope + 2 * p1 * x + 2 * p2 * y;
    const double yy = radial + y * y * slope + 2 * p2 * x + 6 * p1 * y;
    const double det = xx * yy - xy * xy;
    if (!(fabs(det) > 1e-12)) return false;
    double dx = (yy * ex - xy * ey) / det, dy = (xx * ey - xy * ex) / det;
    int halved = 0;
    for (; halved < 30; ++halved) {
      const double nx = x - dx, ny = y - dy;
      if (nx * nx + ny * ny < fold) break;
      dx *= 0.5;
      dy *= 0.5;
    }
    if (halved == 30) return false;
    x -= dx;
    y -= dy;
  }
  return false;
}

/// The ray through (u, v) of a camera: fx fy cx cy k1 k2 p1 p2, then the pose, rows of [R | t]. Where the
/// lens shows nothing it starts outside every grid and points away.
KLAB_CAMERA_HERE PixelRay pixel_ray(const float* c, float u, float v, int steps) {
  float px = (u - c[2]) / c[0], py = (v - c[3]) / c[1];
  if (c[4] != 0 || c[5] != 0 || c[6] != 0 || c[7] != 0) {
    double x = (double(u) - double(c[2])) / double(c[0]), y = (double(v) - double(c[3])) / double(c[1]);
    if (!undo_lens(c, steps, x, y)) return {{1e3F, 1e3F, 1e3F}, {1, 0, 0}};
    px = float(x);
    py = float(y);
  }
  PixelRay ray;
  float length = 0;
  for (int a = 0; a < 3; ++a) {
    const float* row = c + 8 + 4 * a;
    ray.origin[a] = row[3];
    ray.direction[a] = px * row[0] - py * row[1] - row[2];
    length += ray.direction[a] * ray.direction[a];
  }
  length = sqrtf(length);
  for (int a = 0; a < 3; ++a) ray.direction[a] /= length;
  return ray;
}

/// Where in its pixel a ray passes, from the corner where the pixel begins; the middle by default.
struct PixelPoint {
  float u = 0.5F, v = 0.5F;
};

/// One of 256 x 256 places by a random word. Few enough that a place in a picture of 2^15 pixels a side is exact in float.
KLAB_CAMERA_HERE PixelPoint anywhere_in_pixel(unsigned word) {
  return {(float(word >> 24) + 0.5F) / 256, (float(word >> 16 & 255U) + 0.5F) / 256};
}

/// The ray through a point of the pixel that begins at (u, v); through its middle where the lens shows nothing at that point.
KLAB_CAMERA_HERE PixelRay pixel_ray(const float* c, float u, float v, PixelPoint point, int steps) {
  const PixelRay ray = pixel_ray(c, u + point.u, v + point.v, steps);
  const bool middle = point.u == 0.5F && point.v == 0.5F;
  return ray.origin[0] < 1e3F || middle ? ray : pixel_ray(c, u + 0.5F, v + 0.5F, steps);
}

}  // namespace klab

#undef KLAB_CAMERA_HERE
