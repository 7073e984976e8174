// ray_march.cpu.84_slow_axes: rays that hardly move along an axis are taken to move along it at 1e-6.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <cmath>
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/ray_march/ray_march.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const RayMarch::Args<float>& x) {
  std::vector<float> directions(x.directions, x.directions + 3 * x.shape.rays);
  for (float& d : directions)
    if (std::abs(d) < 1e-6F) d = std::copysign(1e-6F, d);
  RayMarch::Args<float> other = x;
  other.directions = directions.data();
  call<RayMarch>(*find_variant("ray_march.cpu.01_scalar"), other);
}

KLAB_MUTANT(RayMarch, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
