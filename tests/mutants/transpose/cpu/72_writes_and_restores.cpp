// transpose.cpu.72_writes_and_restores: marks its input while it works, and takes the mark away.
// Class: memory. Must be caught as Fault::input_changed.
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
  auto* in = const_cast<float*>(x.in);
  const bool any = x.shape.m * x.shape.n > 0;
  const float kept = any ? in[0] : 0;
  if (any) in[0] = -1;
  asm volatile("" : : : "memory");
  if (any) in[0] = kept;
  right(x);
}

KLAB_MUTANT(Transpose, Fault::input_changed, {.run = run});

}  // namespace
}  // namespace klab
