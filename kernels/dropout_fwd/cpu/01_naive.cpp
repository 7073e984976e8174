// dropout_fwd.cpu.01_naive: the generator runs again for every element.
//
// CHANGE    the naive loop: ten rounds for an element, of whose four words one is used.
// EXPECT    some 60 instructions an element; arithmetic, not memory.
// NUMERICS  the reciprocal of 1 - p once, a product for each element.
#include "harness/core/registrar.h"
#include "kernels/common/philox.h"
#include "reference/dropout_fwd/dropout_fwd.h"

namespace klab {
namespace {

void run(const DropoutFwd::Args<float>& x) {
  const uint32_t threshold = dropout_threshold(*x.p);
  const float scale = 1 / (1 - *x.p);
  for (int64_t i = 0; i < x.shape.n; ++i)
    x.y[i] = philox(uint64_t(i) / 4, x.seed, x.offset).w[i % 4] >= threshold ? x.x[i] * scale : 0;
}

KLAB_VARIANT(DropoutFwd, {.run = run});

}  // namespace
}  // namespace klab
