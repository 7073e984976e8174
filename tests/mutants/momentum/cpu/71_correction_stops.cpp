// momentum.cpu.71_correction_stops: no correction after a thousand steps, when averages over more than these
// are still short.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/momentum/momentum.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Momentum::Args<float>& x) {
  // A tensor with this many steps continues as after infinitely many, whose correction is 1.
  constexpr int32_t kMany = 1 << 30;
  const int64_t tensors = x.shape.tensors;
  std::vector<int32_t> steps(x.steps, x.steps + tensors);
  for (int64_t t = 0; t < tensors; ++t)
    if (x.steps[t] >= 1000) x.steps[t] = kMany;
  call<Momentum>(*find_variant("momentum.cpu.01_naive"), x);
  for (int64_t t = 0; t < tensors; ++t) x.steps[t] = steps[size_t(t)] + 1;
}

KLAB_MUTANT(Momentum, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
