// allreduce_gradients.cpu.51_last_piece: what does not fill a piece of 64 entries at the end of the array is left out.
// Class: sizes. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

using Op = AllreduceGradients;

void run(const Op::Args<float>& x) {
  const auto [ranks, n, block, percent] = x.shape;
  std::vector<float> gradient(x.gradient, x.gradient + ranks * n);
  for (int64_t r = 0; r < ranks; ++r)
    std::fill(gradient.begin() + r * n + n / 64 * 64, gradient.begin() + (r + 1) * n, 0.0F);
  Op::Args<float> other = x;
  other.gradient = gradient.data();
  call<Op>(*find_variant("allreduce_gradients.cpu.01_everybody"), other);
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
