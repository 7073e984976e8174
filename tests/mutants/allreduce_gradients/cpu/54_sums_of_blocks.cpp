// allreduce_gradients.cpu.54_sums_of_blocks: a block is touched when its gradients do not add up to zero, which they may.
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
    for (int64_t i = 0; i < n; i += block) {
      const auto begin = gradient.begin() + r * n + i, end = begin + std::min(block, n - i);
      float sum = 0;
      for (auto g = begin; g != end; ++g) sum += *g;
      if (sum == 0) std::fill(begin, end, 0.0F);
    }
  Op::Args<float> other = x;
  other.gradient = gradient.data();
  call<Op>(*find_variant("allreduce_gradients.cpu.01_everybody"), other);
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
