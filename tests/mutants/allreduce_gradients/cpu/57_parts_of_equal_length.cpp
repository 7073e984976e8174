// allreduce_gradients.cpu.57_parts_of_equal_length: parts are n/ranks entries, so that no rank has the
// remainder of the division.
// Class: sizes. Must be caught as Fault::wrong_value.
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
      std::fill(gradient.begin() + r * n + n / ranks * ranks, gradient.begin() + (r + 1) * n, 0.0F);
  });
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
