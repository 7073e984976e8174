// probe_bend.cpu.01_naive: right: as in the contract.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "tests/mutants/probe_bend/probe_bend.h"

namespace klab {
namespace {

void run(const ProbeBend::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i)
    x.y[i] = x.x[i] >= 0 ? std::exp(std::min(x.x[i], 3.F)) * x.w[i] : x.w[i];
}

KLAB_VARIANT(ProbeBend, {.run = run});

}  // namespace
}  // namespace klab
