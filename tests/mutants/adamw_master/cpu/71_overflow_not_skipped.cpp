// adamw_master.cpu.71_overflow_not_skipped: takes the step regardless of all_finite's result.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/adamw_master/adamw_master.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const AdamwMaster::Args<float>& x) {
  using namespace optimizer;
  const float* h = x.hyper;
  const bool take = *x.first >= 0;
  if (take) ++*x.steps;
  const float correct1 = float(1 - std::pow(double(h[beta1]), *x.steps));
  const float correct2 = float(1 - std::pow(double(h[beta2]), *x.steps));
  for (int64_t i = 0; i < x.shape.n; ++i) {
    if (take) {
      const float g = x.gradient[i] * (1 / *x.scale);
      x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * g;
      x.v[i] = h[beta2] * x.v[i] + (1 - h[beta2]) * g * g;
      x.master[i] = (1 - h[rate] * h[decay]) * x.master[i] -
                    h[rate] * (x.m[i] / correct1) / (std::sqrt(x.v[i] / correct2) + h[epsilon]);
    }
    x.weight[i] = to_bfloat16(x.master[i]);
  }
}

KLAB_MUTANT(AdamwMaster, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
