// reduce.cpu.01_naive: one running sum.
//
// CHANGE    the naive loop.
// EXPECT    an addition waits for the one before it: four cycles an element, whatever a core could add at once. That is a
//           byte a cycle, less than memory delivers.
#include "harness/core/registrar.h"
#include "reference/reduce/reduce.h"

namespace klab {
namespace {

void run(const Reduce::Args<float>& x) {
  float sum = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) sum += x.x[i];
  *x.sum = sum;
}

KLAB_VARIANT(Reduce, {.run = run});

}  // namespace
}  // namespace klab
