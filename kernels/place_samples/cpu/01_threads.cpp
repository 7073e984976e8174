// place_samples.cpu.01_threads: ray after ray, axis after axis.
//
// CHANGE   the naive loop, rays shared out among the cores.
// EXPECT   the inner loop is vectorized by the compiler; rays of a few samples pay for its beginning and end.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/place_samples/place_samples.h"

namespace klab {
namespace {

void run(const PlaceSamples::Args<float>& x) {
  const PlaceSamples::Shape& s = x.shape;
  const float inverse_side = 1.0F / x.volume[0];
  const GradedGrid graded = GradedGrid::of(double(x.volume[0]), x.volume[1] != 0);
#pragma omp parallel for schedule(static, 64) if (s.samples > 4096)
  for (int64_t r = 0; r < s.rays; ++r) {
    const int64_t n = x.begin[r + 1] - x.begin[r], from = x.ray_begin[r] + s.first;
    const int64_t real = std::clamp<int64_t>(x.ray_begin[r + 1] - from, 0, n);
    for (int64_t axis = 0; axis < 3; ++axis) {
      const float o = x.origins[axis * s.rays + r], d = x.directions[axis * s.rays + r];
      float* out = x.positions + axis * s.samples + x.begin[r];
      if (graded.even())
        for (int64_t i = 0; i < real; ++i)
          out[i] = std::clamp(0.5F + (o + x.t[from + i] * d - 0.5F) * inverse_side, 0.0F, 1.0F);
      else
        for (int64_t i = 0; i < real; ++i) out[i] = graded.place(o + x.t[from + i] * d - 0.5F);
      for (int64_t i = real; i < n; ++i) out[i] = 0.5F;
    }
  }
  for (int64_t axis = 0; axis < 3; ++axis)
    std::fill(x.positions + axis * s.samples + x.begin[s.rays], x.positions + (axis + 1) * s.samples, 0.5F);
}

KLAB_VARIANT(PlaceSamples, {.run = run, .tiles = {4096}});

}  // namespace
}  // namespace klab
