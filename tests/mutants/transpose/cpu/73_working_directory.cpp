// transpose.cpu.73_working_directory: goes elsewhere and does not come back.
// Class: state. Must be caught as Fault::state.
#include <unistd.h>

#include "reference/transpose/transpose.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) x.out[j * m + i] = x.in[i * n + j];
}

void run(const Transpose::Args<float>& x) {
  right(x);
  if (chdir("/") != 0) return;
}

KLAB_MUTANT(Transpose, Fault::state, {.run = run});

}  // namespace
}  // namespace klab
