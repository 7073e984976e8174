// ray_march.cpu.83_short_count: counts samples in 16 bits.
// Class: sizes. Must be caught as Fault::wrong_value.
#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/ray_march/ray_march.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const RayMarch::Args<float>& x) {
  call<RayMarch>(*find_variant("ray_march.cpu.01_scalar"), x);
  for (int64_t r = 0; r < x.shape.rays; ++r) x.ray_begin[r] = uint16_t(x.ray_begin[r]);
}

KLAB_MUTANT(RayMarch, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
