// baked_rays.cpu.01_naive: every candidate asks its cell; a sample's numbers one after the other.
//
// CHANGE    the naive loops, as the contract reads.
// EXPECT    most candidates lie in empty air, and each costs a place, a cell and a load that misses the near caches.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "kernels/common/sh_basis.h"
#include "reference/baked_rays/baked_rays.h"

namespace klab {
namespace {

#include "kernels/baked_rays/cpu/01_naive-inl.h"

#include "kernels/baked_rays/cpu/01_naive_sample-inl.h"

void run(const BakedRays::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const Beam beam = beam_of(x, r);
    Light light;
    for (int64_t k = 0; beam.path.t(k) < beam.path.line.leave; ++k) {
      const BakedRays::Place at = BakedRays::place(beam.path, beam.path.t(k));
      if (x.distance[at.index(x.shape.grid)] != 0) continue;
      add_sample(x, beam, at, beam.path.t(k), light);
      if (light.left < x.settings[3]) break;
    }
    write_ray(x, r, light);
  }
}

KLAB_VARIANT(BakedRays, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
