// adamw_master.cpu.84_ties_up: half is added before a weight is cut to 16 bits: what lies in the middle goes up, not to
// the even one.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <cmath>
#include <cstring>

#include "kernels/common/scalar.h"
#include "kernels/common/scratch.h"
#include "reference/adamw_master/adamw_master.h"
#include "tests/mutants/mutant.h"

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
  for (int64_t i = 0; i < x.shape.n; ++i) {
    uint32_t b;
    std::memcpy(&b, &x.master[i], 4);
    b = (b + 0x8000U) >> 16;
    std::memcpy(&x.weight[i], &b, 2);
  }
}

KLAB_MUTANT(AdamwMaster, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
