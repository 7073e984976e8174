// ray_march.cpu.01_scalar: every candidate of every ray is looked up in the grid.
//
// CHANGE    the naive loop: step, look up, keep or not, step.
// EXPECT    time is proportional to the steps through the box, most of them in empty cells.
// NUMERICS  bit-exact by contract.
#include <vector>
#include "harness/core/registrar.h"

#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

using March = RayMarch;

struct Ray {
  float o[3], d[3];
};

bool occupied(const March::Args<float>& x, const float p[3]) {
  const float c[3] = {p[0] - 0.5F, p[1] - 0.5F, p[2] - 0.5F};
  const float away = std::max({std::abs(c[0]), std::abs(c[1]), std::abs(c[2])});
  const int k = March::cascade_of(away, x.shape.cascades);
  uint32_t cell[3];
  for (int axis = 0; axis < 3; ++axis) cell[axis] = uint32_t(March::cell_of(c[axis], k, x.shape.grid));
  const uint32_t index = March::morton(cell[0], cell[1], cell[2]);
  const int64_t bytes = x.shape.grid * x.shape.grid * x.shape.grid / 8;
  return (x.occupancy[k * bytes + index / 8] >> (index % 8)) & 1;
}

// Samples of one ray, at most `room` of them, into t; returns how many there would be.
int64_t march(const March::Args<float>& x, const Ray& ray, float jitter, float* t_out) {
  const March::Shape& s = x.shape;
  const March::Span span =
      March::box_span(ray.o, ray.d, x.steps[0], x.steps[4], float(1 << (s.cascades - 1)));
  if (!(span.enter < span.leave)) return 0;
  const float first = span.enter + jitter * March::step_at(span.enter, x.steps);
  float t = first;
  int64_t count = 0;
  for (int64_t k = 0; t < span.leave && count < s.max_samples;) {
    const float p[3] = {ray.o[0] + t * ray.d[0], ray.o[1] + t * ray.d[1], ray.o[2] + t * ray.d[2]};
    if (occupied(x, p)) t_out[count++] = t;
    ++k;
    t = x.steps[3] == 0 ? first + float(k) * x.steps[1] : t + March::step_at(t, x.steps);
  }
  return count;
}

#include "kernels/ray_march/cpu/01_scalar-inl.h"

KLAB_VARIANT(RayMarch, {.run = run});

}  // namespace
}  // namespace klab
