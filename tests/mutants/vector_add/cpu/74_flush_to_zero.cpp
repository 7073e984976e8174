// vector_add.cpu.74_flush_to_zero: turns denormals off for the threads of the team, and leaves it so.
// Class: state. Must be caught as Fault::state.
#include <cfenv>

#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const VectorAdd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];
}

void run(const VectorAdd::Args<float>& x) {
#pragma omp parallel
  {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000);
#else
    std::fesetround(FE_DOWNWARD);
#endif
#pragma omp single
    right(x);
  }
}

KLAB_MUTANT(VectorAdd, Fault::state, {.run = run});

}  // namespace
}  // namespace klab
