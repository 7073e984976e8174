// probe_scale.cpu.01_naive: right: one multiplication and one addition.
#include "harness/core/registrar.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

void run(const ProbeScale::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.y[i] += *x.factor * x.x[i];
}

KLAB_VARIANT(ProbeScale, {.run = run});

}  // namespace
}  // namespace klab
