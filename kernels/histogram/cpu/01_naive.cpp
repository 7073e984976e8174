// histogram.cpu.01_naive: one table of counts.
//
// CHANGE    the naive loop.
// EXPECT    a count is loaded, raised and stored. Where neighbors are equal the next load waits for the store before it, some five
//           cycles; where they differ, little: a load, a compare, an addition to memory.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/histogram/histogram.h"

namespace klab {
namespace {

void run(const Histogram::Args<float>& x) {
  std::fill_n(x.counts, Histogram::bins, 0U);
  for (int64_t i = 0; i < x.shape.n; ++i)
    if (x.keys[i] < Histogram::bins) ++x.counts[x.keys[i]];
}

KLAB_VARIANT(Histogram, {.run = run});

}  // namespace
}  // namespace klab
