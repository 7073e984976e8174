// allreduce_gradients.cpu.56_mean_of_senders: the mean of a block is taken over the ranks that have touched it, not over all.
// Must be caught as Fault::wrong_value.
#include <algorithm>
#include <vector>

#include "tests/mutants/allreduce_gradients/other_gradients.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

using Op = AllreduceGradients;

void run(const Op::Args<float>& x) {
  const int64_t ranks = x.shape.ranks;
  const int64_t n = x.shape.n;
  const int64_t block = x.shape.block;
  on_other_gradients(x, [&](std::vector<float>& gradient) {
    for (int64_t i = 0; i < n; i += block) {
      const int64_t count = std::min(block, n - i);
      int64_t senders = 0;
      for (int64_t r = 0; r < ranks; ++r)
        senders += std::any_of(x.gradient + r * n + i, x.gradient + r * n + i + count,
                               [](float v) { return v != 0; });
      for (int64_t r = 0; r < ranks && senders > 0; ++r)
        for (int64_t k = i; k < i + count; ++k) gradient[size_t(r * n + k)] *= float(ranks) / float(senders);
    }
  });
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
