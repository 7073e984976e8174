// swiglu_fwd.cpu.01_naive: one element after the other.
//
// CHANGE    the naive loop, with the library's exponential.
// EXPECT    bound by the exponential, far from the copy bandwidth.
// NUMERICS  float.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/swiglu_fwd/swiglu_fwd.h"

namespace klab {
namespace {

void run(const SwigluFwd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.y[i] = x.a[i] / (1 + std::exp(-x.a[i])) * x.b[i];
}

KLAB_VARIANT(SwigluFwd, {.run = run});

}  // namespace
}  // namespace klab
