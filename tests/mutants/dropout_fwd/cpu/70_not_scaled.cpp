// dropout_fwd.cpu.70_not_scaled: kept elements are not scaled.
// Must be caught as Fault::wrong_value.
#include "kernels/common/philox.h"
#include "reference/dropout_fwd/dropout_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const DropoutFwd::Args<float>& x) {
  const uint32_t threshold = dropout_threshold(*x.p);
  for (int64_t i = 0; i < x.shape.n; ++i)
    x.y[i] = philox(uint64_t(i) / 4, x.seed, x.offset).w[i % 4] >= threshold ? x.x[i] : 0;
}

KLAB_MUTANT(DropoutFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
