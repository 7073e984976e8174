// ray_weights.cpu.01_naive: one pass to find, one to fill.
//
// CHANGE   the naive loops.
// EXPECT   12 bytes in and 4 out a ray.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/ray_weights/ray_weights.h"

namespace klab {
namespace {

int64_t whole_rays(const RayWeights::Args<float>& x) {
  const RayWeights::Shape& s = x.shape;
  const int32_t marched = x.ray_begin[s.rays];
  int64_t whole = *x.count;
  if (marched + s.max_samples > s.capacity)
    while (whole > 0 && x.ray_begin[whole - 1] == marched) --whole;
  for (int64_t r = 0; r < whole; ++r)
    if (x.begin[r + 1] - x.begin[r] != std::min(x.limit[r], x.ray_begin[r + 1] - x.ray_begin[r])) return r;
  return whole;
}

void run(const RayWeights::Args<float>& x) {
  const int64_t whole = whole_rays(x);
  *x.whole = int32_t(whole);
  std::fill_n(x.weight, whole, 1.0F / float(std::max<int64_t>(1, whole)));
  std::fill(x.weight + whole, x.weight + x.shape.rays, 0.0F);
}

KLAB_VARIANT(RayWeights, {.run = run});

}  // namespace
}  // namespace klab
