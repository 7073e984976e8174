// allreduce_gradients.cpu.57_parts_of_equal_length: parts are n/ranks entries, so that what the division leaves over belongs to nobody.
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
    std::fill(gradient.begin() + r * n + n / ranks * ranks, gradient.begin() + (r + 1) * n, 0.0F);
  Op::Args<float> other = x;
  other.gradient = gradient.data();
  call<Op>(*find_variant("allreduce_gradients.cpu.01_everybody"), other);
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
