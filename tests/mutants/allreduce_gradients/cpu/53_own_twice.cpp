// allreduce_gradients.cpu.53_own_twice: the owner of a part adds its own gradient once as the sum begins and once in its turn.
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
    for (int64_t r = 0; r < ranks; ++r)
      for (int64_t i = Op::first(x.shape, r); i < Op::first(x.shape, r + 1); ++i)
        gradient[size_t(r * n + i)] *= 2;
  });
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
