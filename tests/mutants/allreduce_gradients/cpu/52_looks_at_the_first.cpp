// allreduce_gradients.cpu.52_looks_at_the_first: a block is touched when its first entry is, and else nothing of it is sent.
// Class: inputs. Must be caught as Fault::wrong_value.
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
    for (int64_t i = 0; i < n; i += block)
      if (gradient[size_t(r * n + i)] == 0)
        std::fill_n(gradient.begin() + r * n + i, std::min(block, n - i), 0.0F);
  Op::Args<float> other = x;
  other.gradient = gradient.data();
  call<Op>(*find_variant("allreduce_gradients.cpu.01_everybody"), other);
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
