// swiglu_bwd.cpu.01_naive: one element after the other.
//
// CHANGE    the naive loop, with the library's exponential.
// EXPECT    bound by the exponential, far from the copy bandwidth.
// NUMERICS  float.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/swiglu_bwd/swiglu_bwd.h"

namespace klab {
namespace {

void run(const SwigluBwd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float s = 1 / (1 + std::exp(-x.a[i])), rest = 1 / (1 + std::exp(x.a[i]));
    x.d_a[i] = x.d_y[i] * x.b[i] * s * (1 + x.a[i] * rest);
    x.d_b[i] = x.d_y[i] * x.a[i] * s;
  }
}

KLAB_VARIANT(SwigluBwd, {.run = run});

}  // namespace
}  // namespace klab
