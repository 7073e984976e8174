// vector_add.cpu.52_saturates: stops at the largest float.
// Class: not finite. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <limits>

#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VectorAdd::Args<float>& x) {
  constexpr float kMost = std::numeric_limits<float>::max();
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = std::clamp(x.a[i] + x.b[i], -kMost, kMost);
}

KLAB_MUTANT(VectorAdd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
