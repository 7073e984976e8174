// adamw_master.cpu.01_naive: unscale, step and cast, one after the other.
//
// CHANGE    three passes, as three functions of a library would make them: the gradient without its scale
//           goes to memory, the step is taken, the weights are made from the masters.
// EXPECT    42 bytes an entry where 30 would do, and one entry at a time.
// NUMERICS  float; terms of the step count in double, because 1 - beta^step cancels for small steps.
// NEEDS     4 bytes of scratch an entry.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "kernels/common/scratch.h"
#include "reference/adamw_master/adamw_master.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void step(const AdamwMaster::Args<float>& x, const float* gradient) {
  using namespace optimizer;
  const float* h = x.hyper;
  const int32_t count = ++*x.steps;
  const float correct1 = float(1 - std::pow(double(h[beta1]), count));
  const float correct2 = float(1 - std::pow(double(h[beta2]), count));
  KLAB_SCALAR_LOOP
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * gradient[i];
    x.v[i] = h[beta2] * x.v[i] + (1 - h[beta2]) * gradient[i] * gradient[i];
    x.master[i] = (1 - h[rate] * h[decay]) * x.master[i] -
                  h[rate] * (x.m[i] / correct1) / (std::sqrt(x.v[i] / correct2) + h[epsilon]);
  }
}

KLAB_SCALAR_FUNCTION void run(const AdamwMaster::Args<float>& x) {
  static thread_local Scratch scratch;
  if (*x.first == AdamwMaster::kAllFinite) {
    float* gradient = scratch.floats(x.shape.n);
    KLAB_SCALAR_LOOP
    for (int64_t i = 0; i < x.shape.n; ++i) gradient[i] = x.gradient[i] / *x.scale;
    step(x, gradient);
  }
  KLAB_SCALAR_LOOP
  for (int64_t i = 0; i < x.shape.n; ++i) x.weight[i] = to_bfloat16(x.master[i]);
}

KLAB_VARIANT(AdamwMaster, {.run = run});

}  // namespace
}  // namespace klab
