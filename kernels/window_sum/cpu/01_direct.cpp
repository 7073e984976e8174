// window_sum.cpu.01_direct: every window added up from its beginning.
//
// CHANGE    the naive loop over the window, inside the loop over the outputs.
// EXPECT    2r+1 additions an output, each waiting for the one before: at r = 100 some two hundred times the
//           latency of an addition, and the memory has nothing to do.
// NUMERICS  one float accumulator a window, from left to right.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/window_sum/window_sum.h"

namespace klab {
namespace {

void run(const WindowSum::Args<float>& x) {
  const int64_t n = x.shape.n, r = std::min(x.shape.r, n);  // beyond n, a window holds everything
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = std::max<int64_t>(i - r, 0), end = std::min(i + r + 1, n);
    float sum = 0;
    for (int64_t j = begin; j < end; ++j) sum += x.x[j];
    x.y[i] = sum;
  }
}

KLAB_VARIANT(WindowSum, {.run = run});

}  // namespace
}  // namespace klab
