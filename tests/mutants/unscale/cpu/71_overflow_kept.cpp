// unscale.cpu.71_overflow_kept: divides regardless of all_finite's result: an overflow reaches the moments,
// and stays there.
// Class: inputs. Must be caught as Fault::non_finite.
#include "reference/unscale/unscale.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Unscale::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.gradient[i] /= *x.scale;
}

KLAB_MUTANT(Unscale, Fault::non_finite, {.run = run});

}  // namespace
}  // namespace klab
