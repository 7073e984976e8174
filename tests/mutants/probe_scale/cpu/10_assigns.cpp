// probe_scale.cpu.10_assigns: writes where it should add.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

void run(const ProbeScale::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.y[i] = *x.factor * x.x[i];
}

KLAB_MUTANT(ProbeScale, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
