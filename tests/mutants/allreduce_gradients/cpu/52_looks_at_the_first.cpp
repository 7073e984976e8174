// allreduce_gradients.cpu.52_looks_at_the_first: a block is touched when its first entry is, and else nothing of it is sent.
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
      for (int64_t i = 0; i < n; i += block)
        if (gradient[size_t(r * n + i)] == 0)
          std::fill_n(gradient.begin() + r * n + i, std::min(block, n - i), 0.0F);
  });
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
