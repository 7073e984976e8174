// dropout_bwd.cpu.70_next_call: the mask of the next call, not of the forward.
// Must be caught as Fault::wrong_value.
#include "kernels/common/philox.h"
#include "reference/dropout_bwd/dropout_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const DropoutBwd::Args<float>& x) {
  const uint32_t next[] = {x.offset[0] + 1, x.offset[1]};
  const uint32_t threshold = dropout_threshold(*x.p);
  const float scale = 1 / (1 - *x.p);
  for (int64_t i = 0; i < x.shape.n; ++i)
    x.d_x[i] = philox(uint64_t(i) / 4, x.seed, next).w[i % 4] >= threshold ? x.d_y[i] * scale : 0;
}

KLAB_MUTANT(DropoutBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
