// total_variation_bwd.cpu.01_naive: point after point.
//
// CHANGE   the naive loop.
// EXPECT   four streams in; a thousand points take a microsecond.
#include "harness/core/registrar.h"
#include "reference/total_variation_bwd/total_variation_bwd.h"

namespace klab {
namespace {

void run(const TotalVariationBwd::Args<float>& x) {
  const int64_t n = x.shape.points;
  for (int64_t p = 0; p < n; ++p) {
    float sum = 0;
    for (int64_t m = 1; m < 4; ++m) {
      const float difference = 2 * x.d_loss[p] * (x.raw[m * n + p] - x.raw[p]);
      x.d_raw[m * n + p] = difference;
      sum += difference;
    }
    x.d_raw[p] = -sum;
  }
}

KLAB_VARIANT(TotalVariationBwd, {.run = run});

}  // namespace
}  // namespace klab
