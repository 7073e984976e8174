// total_variation_fwd.cpu.01_naive: point after point.
//
// CHANGE   the naive loop.
// EXPECT   four streams in; a thousand points take a microsecond.
#include "harness/core/registrar.h"
#include "reference/total_variation_fwd/total_variation_fwd.h"

namespace klab {
namespace {

void run(const TotalVariationFwd::Args<float>& x) {
  const int64_t n = x.shape.points;
  for (int64_t p = 0; p < n; ++p) {
    float sum = 0;
    for (int64_t m = 1; m < 4; ++m) {
      const float difference = x.raw[m * n + p] - x.raw[p];
      sum += difference * difference;
    }
    x.loss[p] = sum;
  }
}

KLAB_VARIANT(TotalVariationFwd, {.run = run});

}  // namespace
}  // namespace klab
