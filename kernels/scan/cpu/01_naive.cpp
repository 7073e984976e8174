// scan.cpu.01_naive: one running sum.
//
// CHANGE    the naive loop.
// EXPECT    an addition of whole numbers takes one cycle, so the chain is one cycle an element: 8 bytes a cycle, about as much as
//           one core gets from memory.
#include "harness/core/registrar.h"
#include "reference/scan/scan.h"

namespace klab {
namespace {

void run(const Scan::Args<float>& x) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.y[i] = sum;
    sum += x.x[i];
  }
}

KLAB_VARIANT(Scan, {.run = run});

}  // namespace
}  // namespace klab
