// allreduce_gradients.cpu.50_forgets_a_rank: the gradient of the last rank is left out where there are more than two.
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
  on_other_gradients(x, [&](std::vector<float>& gradient) {
    if (ranks > 2) std::fill(gradient.end() - n, gradient.end(), 0.0F);
  });
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
