// visible_limit.cpu.01_naive: ray after ray.
//
// CHANGE   the naive loop.
// EXPECT   an exponential a sample, each waiting for the comparison before it.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/visible_limit/visible_limit.h"

namespace klab {
namespace {

void look(const VisibleLimit::Args<float>& x, int64_t r) {
  const float stop = *x.stop;
  float depth = x.optical_depth[r];
  const float* raw = x.raw + x.begin[r];
  const float* delta = x.delta + x.ray_begin[r] + x.shape.first;
  const int32_t n = x.begin[r + 1] - x.begin[r];
  int32_t i = 0;
  for (; i < n && depth <= stop; ++i) depth += std::exp(raw[i]) * delta[i];
  if (n > 0 && depth > stop) x.limit[r] = int32_t(x.shape.first) + i;
  x.optical_depth[r] = depth;
}

void run(const VisibleLimit::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) look(x, r);
}

KLAB_VARIANT(VisibleLimit, {.run = run});

}  // namespace
}  // namespace klab
