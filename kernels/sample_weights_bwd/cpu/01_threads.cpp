// sample_weights_bwd.cpu.01_threads: ray after ray, there and back.
//
// CHANGE   the naive loops, rays shared out among the cores.
// EXPECT   four exponentials a sample, each in a chain.
// NUMERICS float; the running sum in double, so that it can be walked back.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/sample_weights_bwd/sample_weights_bwd.h"

namespace klab {
namespace {

void run(const SampleWeightsBwd::Args<float>& x) {
#pragma omp parallel for schedule(static, 64) if (x.shape.samples > 2048)
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    double depth = 0;
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i)
      depth += double(std::exp(x.density_raw[i]) * x.delta[i]);
    // From the back: the optical depth in front of a sample is that behind it less its own.
    float behind = 0, after = std::exp(-float(depth));
    for (int64_t i = x.ray_begin[r + 1]; i-- > x.ray_begin[r];) {
      const float raw = x.density_raw[i],
                  slope = std::exp(std::min(std::max(raw, -15.0F), 15.0F)) * x.delta[i];
      depth -= double(std::exp(raw) * x.delta[i]);
      const float before = std::exp(-float(depth));
      x.d_density_raw[i] += slope * (after * x.d_weights[i] - behind);
      behind += (before - after) * x.d_weights[i];
      after = before;
    }
  }
}

KLAB_VARIANT(SampleWeightsBwd, {.run = run, .forward = "01_threads", .tiles = {64}});

}  // namespace
}  // namespace klab
