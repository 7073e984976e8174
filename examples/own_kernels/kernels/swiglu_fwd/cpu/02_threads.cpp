// swiglu_fwd.cpu.02_threads: the elements shared out among threads.
//
// CHANGE    each thread takes a contiguous part.
// EXPECT    bound by the exponentials, which are independent: as many times faster as there are cores.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     OpenMP.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/swiglu_fwd/swiglu_fwd.h"

namespace klab {
namespace {

void run(const SwigluFwd::Args<float>& x) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < x.shape.n; ++i) x.y[i] = x.a[i] / (1 + std::exp(-x.a[i])) * x.b[i];
}

KLAB_VARIANT(SwigluFwd, {.run = run,
                         .parent = "01_naive",
                         .tiles = {64},
                         .expect = {.shape = {1 << 20}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
