// unscale.cpu.70_zero_times: a gradient that is not finite is multiplied by zero, which leaves NaN as NaN.
// Class: inputs. Must be caught as Fault::non_finite.
#include "reference/unscale/unscale.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Unscale::Args<float>& x) {
  const float factor = *x.first == 0x7FFFFFFF ? 1 / *x.scale : 0.0F;
  for (int64_t i = 0; i < x.shape.n; ++i) x.gradient[i] *= factor;
}

KLAB_MUTANT(Unscale, Fault::non_finite, {.run = run});

}  // namespace
}  // namespace klab
