// swiglu_bwd.cpu.02_threads: the elements shared out among threads.
//
// CHANGE    each thread takes a contiguous part.
// EXPECT    bound by the exponentials, which are independent: as many times faster as there are cores.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     OpenMP.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/swiglu_bwd/swiglu_bwd.h"

namespace klab {
namespace {

void run(const SwigluBwd::Args<float>& x) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float s = 1 / (1 + std::exp(-x.a[i])), rest = 1 / (1 + std::exp(x.a[i]));
    x.d_a[i] = x.d_y[i] * x.b[i] * s * (1 + x.a[i] * rest);
    x.d_b[i] = x.d_y[i] * x.a[i] * s;
  }
}

KLAB_VARIANT(SwigluBwd, {.run = run,
                         .parent = "01_naive",
                         .tiles = {64},
                         .expect = {.shape = {1 << 20}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
