// allreduce_gradients.cpu.55_sends_back_to_senders: parameters of a block go back to those ranks that have touched it, and the others keep old ones.
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
  const std::vector<float> before(x.param, x.param + ranks * n);
  call<Op>(*find_variant("allreduce_gradients.cpu.01_everybody"), x);
  for (int64_t r = 0; r < ranks; ++r)
    for (int64_t i = 0; i < n; i += block) {
      const float* const g = x.gradient + r * n + i;
      const int64_t count = std::min(block, n - i);
      const bool touched = std::any_of(g, g + count, [](float v) { return v != 0; });
      const bool owner = i >= Op::first(x.shape, r) && i < Op::first(x.shape, r + 1);
      if (!touched && !owner) std::copy_n(before.data() + r * n + i, count, x.param + r * n + i);
    }
}

KLAB_MUTANT(AllreduceGradients, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
