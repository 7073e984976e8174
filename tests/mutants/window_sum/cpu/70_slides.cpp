// window_sum.cpu.70_slides: the textbook's running sum. Elements that leave the window leave their rounding
// errors behind.
// Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cmath>

#include "reference/window_sum/window_sum.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const WindowSum::Args<float>& x) {
  const int64_t n = x.shape.n, r = std::min(x.shape.r, n);
  float sum = 0;
  for (int64_t j = 0; j < std::min(r, n); ++j) sum += x.x[j];
  for (int64_t i = 0; i < n; ++i) {
    if (i + r < n) sum += x.x[i + r];
    if (i - r - 1 >= 0) sum -= x.x[i - r - 1];
    if (std::isnan(sum)) {  // restarts, so that only its roundings are wrong
      sum = 0;
      for (int64_t j = std::max<int64_t>(0, i - r); j <= std::min(n - 1, i + r); ++j) sum += x.x[j];
    }
    x.y[i] = sum;
  }
}

KLAB_MUTANT(WindowSum, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
