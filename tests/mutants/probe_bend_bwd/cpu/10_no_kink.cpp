// probe_bend_bwd.cpu.10_no_kink: forgets that the forward is flat below 0.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_bend/probe_bend.h"

namespace klab {
namespace {

void run(const ProbeBendBwd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i)
    if (x.x[i] < 3) x.d_x[i] += x.y[i] * x.d_y[i];
}

KLAB_MUTANT(ProbeBendBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
