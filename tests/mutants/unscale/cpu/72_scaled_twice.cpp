// unscale.cpu.72_scaled_twice: divides although the caller has divided already.
// Must be caught as Fault::wrong_value.
#include "reference/unscale/unscale.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Unscale::Args<float>& x) {
  const bool finite = *x.first == 0x7FFFFFFF;
  for (int64_t i = 0; i < x.shape.n; ++i) x.gradient[i] = finite ? x.gradient[i] / *x.scale / *x.scale : 0.0F;
}

KLAB_MUTANT(Unscale, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
