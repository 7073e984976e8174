// dropout_fwd.cpu.71_kept_with_p: p taken for the probability to keep; right at one half.
// Must be caught as Fault::wrong_value.
#include "kernels/common/philox.h"
#include "reference/dropout_fwd/dropout_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const DropoutFwd::Args<float>& x) {
  const uint32_t threshold = dropout_threshold(*x.p);
  const float scale = 1 / (1 - *x.p);
  for (int64_t i = 0; i < x.shape.n; ++i)
    x.y[i] = philox(uint64_t(i) / 4, x.seed, x.offset).w[i % 4] < threshold ? x.x[i] * scale : 0;
}

KLAB_MUTANT(DropoutFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
