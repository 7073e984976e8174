// probe_count.cpu.01_naive: right: one bin after the other.
#include "harness/core/registrar.h"
#include "tests/mutants/probe_count/probe_count.h"

namespace klab {
namespace {

void run(const ProbeCount::Args<float>& x) {
  for (int b = 0; b < 16; ++b) x.count[b] = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) ++x.count[int(x.x[i] * 16)];
}

KLAB_VARIANT(ProbeCount, {.run = run});

}  // namespace
}  // namespace klab
