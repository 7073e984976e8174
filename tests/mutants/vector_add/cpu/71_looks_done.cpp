// vector_add.cpu.71_looks_done: leaves when a few elements of the result are there already.
// Must be caught as Fault::stale.
#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  const auto done = [&](int64_t i) { return x.c[i] == x.a[i] + x.b[i]; };
  if (n > 8 && done(0) && done(1) && done(n / 2) && done(n - 1)) return;
  for (int64_t i = 0; i < n; ++i) x.c[i] = x.a[i] + x.b[i];
}

KLAB_MUTANT(VectorAdd, Fault::stale, {.run = run});

}  // namespace
}  // namespace klab
