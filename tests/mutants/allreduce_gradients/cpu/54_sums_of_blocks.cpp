// allreduce_gradients.cpu.54_sums_of_blocks: a block is touched when its gradients do not add up to zero, which they may.
// Class: inputs. Must be caught as Fault::wrong_value.
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
    for (int64_t r = 0; r < ranks; ++r)
      for (int64_t i = 0; i < n; i += block) {
        const auto begin = gradient.begin() + r * n + i, end = begin + std::min(block, n - i);
        float sum = 0;
        for (auto g = begin; g != end; ++g) sum += *g;
        if (sum == 0) std::fill(begin, end, 0.0F);
      }
  });
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
