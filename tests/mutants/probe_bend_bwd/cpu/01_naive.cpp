// probe_bend_bwd.cpu.01_naive: right: as in the contract.
#include "harness/core/registrar.h"
#include "tests/mutants/probe_bend/probe_bend.h"

namespace klab {
namespace {

void run(const ProbeBendBwd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i)
    if (x.x[i] >= 0 && x.x[i] < 3) x.d_x[i] += x.y[i] * x.d_y[i];
}

KLAB_VARIANT(ProbeBendBwd, {.run = run});

}  // namespace
}  // namespace klab
