// A ray through a pixel, on processors and GPUs alike: pinhole camera and OpenCV's lens distortion, as draw_rays has them.
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

/// The ray through (u, v) of a camera: fx fy cx cy k1 k2 p1 p2, then the pose, rows of [R | t]. `steps` of Newton's method
/// take the lens's distortion back.
KLAB_CAMERA_HERE PixelRay pixel_ray(const float* c, float u, float v, int steps) {
  const float qx = (u - c[2]) / c[0], qy = (v - c[3]) / c[1];
  float px = qx, py = qy;
  const bool lens = c[4] != 0 || c[5] != 0 || c[6] != 0 || c[7] != 0;
  for (int i = 0; lens && i < steps; ++i) {
    const float r2 = px * px + py * py, radial = 1 + r2 * (c[4] + r2 * c[5]);
    const float slope = 2 * (c[4] + 2 * r2 * c[5]);
    const float ex = px * radial + 2 * c[6] * px * py + c[7] * (r2 + 2 * px * px) - qx;
    const float ey = py * radial + 2 * c[7] * px * py + c[6] * (r2 + 2 * py * py) - qy;
    const float xx = radial + px * px * slope + 2 * c[6] * py + 6 * c[7] * px;
    const float xy = px * py * slope + 2 * c[6] * px + 2 * c[7] * py;
    const float yy = radial + py * py * slope + 2 * c[7] * px + 6 * c[6] * py;
    const float det = xx * yy - xy * xy;
    if (!(fabsf(det) > 1e-6F)) break;
    px -= (yy * ex - xy * ey) / det;
    py -= (xx * ey - xy * ex) / det;
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

}  // namespace klab

#undef KLAB_CAMERA_HERE
