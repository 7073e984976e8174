// spread_samples.cpu.01_threads: ray after ray, row after row.
//
// CHANGE   the naive loop, rays shared out among the cores.
// EXPECT   runs of a few floats: their start and end take longer than the copies.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/spread_samples/spread_samples.h"

namespace klab {
namespace {

void run(const SpreadSamples::Args<float>& x) {
  const SpreadSamples::Shape& s = x.shape;
#pragma omp parallel for schedule(static, 64) if (s.samples > 4096)
  for (int64_t r = 0; r < s.rays; ++r) {
    const int64_t n = x.begin[r + 1] - x.begin[r], from = x.ray_begin[r], to = x.begin[r];
    const int64_t real = std::min<int64_t>(x.ray_begin[r + 1] - from, n);
    for (int64_t axis = 0; axis < 3; ++axis) {
      float* out = x.sample_directions + axis * s.samples + to;
      std::fill(out, out + real, x.directions[axis * s.rays + r]);
      std::fill(out + real, out + n, float(axis == 2));
    }
    std::copy_n(x.t + from, real, x.sample_t + to);
    std::copy_n(x.delta + from, real, x.sample_delta + to);
    std::fill(x.sample_t + to + real, x.sample_t + to + n, 0.0F);
    std::fill(x.sample_delta + to + real, x.sample_delta + to + n, 0.0F);
  }
  const int64_t end = x.begin[s.rays];
  for (int64_t axis = 0; axis < 3; ++axis)
    std::fill(x.sample_directions + axis * s.samples + end, x.sample_directions + (axis + 1) * s.samples,
              float(axis == 2));
  std::fill(x.sample_t + end, x.sample_t + s.samples, 0.0F);
  std::fill(x.sample_delta + end, x.sample_delta + s.samples, 0.0F);
}

KLAB_VARIANT(SpreadSamples, {.run = run, .tiles = {4096}});

}  // namespace
}  // namespace klab
