// ray_march.cpu.85_no_end: rays reach the end of the box where they should end before it.
// Must be caught as Fault::wrong_value.
#include <algorithm>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/ray_march/ray_march.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const RayMarch::Args<float>& x) {
  float steps[5];
  std::copy(x.steps, x.steps + 5, steps);
  steps[4] = kNoFar;
  RayMarch::Args<float> other = x;
  other.steps = steps;
  call<RayMarch>(*find_variant("ray_march.cpu.01_scalar"), other);
}

KLAB_MUTANT(RayMarch, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
