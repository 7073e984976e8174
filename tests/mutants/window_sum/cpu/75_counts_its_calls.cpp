// window_sum.cpu.75_counts_its_calls: computes at every call except each third of the same size, which
// returns the kept result.
// Class: earlier calls. Must be caught as Fault::stale.
#include <algorithm>
#include <vector>

#include "reference/window_sum/window_sum.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const WindowSum::Args<float>& x) {
  const auto [n, r] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(0, i - r); j <= std::min(n - 1, i + r); ++j) sum += x.x[j];
    x.y[i] = sum;
  }
}

void run(const WindowSum::Args<float>& x) {
  static std::vector<float> kept;
  static int64_t calls = 0;
  const auto n = size_t(x.shape.n);
  if (kept.size() != n) calls = 0;
  if (n > 8 && ++calls % 2 == 0) {
    std::copy(kept.begin(), kept.end(), x.y);
    return;
  }
  right(x);
  kept.assign(x.y, x.y + n);
}

KLAB_MUTANT(WindowSum, Fault::stale, {.run = run});

}  // namespace
}  // namespace klab
