// window_sum.cpu.50_radius_as_int: keeps the radius in 32 bits.
// Class: sizes. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cstdint>

#include "reference/window_sum/window_sum.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const WindowSum::Args<float>& x) {
  const int64_t n = x.shape.n;
  const int32_t r = int32_t(x.shape.r);
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(0, i - r); j <= std::min<int64_t>(n - 1, i + r); ++j) sum += x.x[j];
    x.y[i] = sum;
  }
}

KLAB_MUTANT(WindowSum, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
