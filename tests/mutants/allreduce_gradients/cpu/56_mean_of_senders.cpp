// allreduce_gradients.cpu.56_mean_of_senders: the mean of a block is taken over the ranks that have touched it, not over all.
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
  for (int64_t i = 0; i < n; i += block) {
    const int64_t count = std::min(block, n - i);
    int64_t senders = 0;
    for (int64_t r = 0; r < ranks; ++r)
      senders +=
          std::any_of(x.gradient + r * n + i, x.gradient + r * n + i + count, [](float v) { return v != 0; });
    for (int64_t r = 0; r < ranks && senders > 0; ++r)
      for (int64_t k = i; k < i + count; ++k) gradient[size_t(r * n + k)] *= float(ranks) / float(senders);
  }
  Op::Args<float> other = x;
  other.gradient = gradient.data();
  call<Op>(*find_variant("allreduce_gradients.cpu.01_everybody"), other);
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
