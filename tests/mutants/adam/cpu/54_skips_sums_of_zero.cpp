// adam.cpu.54_skips_sums_of_zero: a group whose gradients add up to zero is skipped, though none of them is zero.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <numeric>
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/adam/adam.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Adam::Args<float>& x) {
  const int64_t n = x.shape.n, group = x.shape.group;
  std::vector<float> gradient(x.gradient, x.gradient + n);
  for (int64_t begin = 0; begin < n; begin += group) {
    const auto from = gradient.begin() + begin, to = gradient.begin() + std::min(n, begin + group);
    if (std::accumulate(from, to, 0.0F) == 0) std::fill(from, to, 0.0F);
  }
  Adam::Args<float> other = x;
  other.gradient = gradient.data();
  call<Adam>(*find_variant("adam.cpu.01_naive"), other);
}

KLAB_MUTANT(Adam, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
