// sample_weights_fwd.cpu.01_threads: ray after ray.
//
// CHANGE   the naive loop, rays shared out among the cores.
// EXPECT   two exponentials a sample, each in a chain.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"

namespace klab {
namespace {

void run(const SampleWeightsFwd::Args<float>& x) {
#pragma omp parallel for schedule(static, 64) if (x.shape.samples > 2048)
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    float depth = 0, before = 1;
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      depth += std::exp(x.density_raw[i]) * x.delta[i];
      const float after = std::exp(-depth);
      x.weights[i] = before - after;
      before = after;
    }
  }
}

KLAB_VARIANT(SampleWeightsFwd, {.run = run, .tiles = {64}});

}  // namespace
}  // namespace klab
