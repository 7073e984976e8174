// allreduce_gradients.cpu.53_own_twice: the owner of a part adds its own gradient once as the sum begins and once in its turn.
// Must be caught as Fault::wrong_value.
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
    for (int64_t i = Op::first(x.shape, r); i < Op::first(x.shape, r + 1); ++i)
      gradient[size_t(r * n + i)] *= 2;
  Op::Args<float> other = x;
  other.gradient = gradient.data();
  call<Op>(*find_variant("allreduce_gradients.cpu.01_everybody"), other);
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
