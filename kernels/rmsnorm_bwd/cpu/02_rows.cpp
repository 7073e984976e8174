// rmsnorm_bwd.cpu.02_rows: everything about a row while it is in the cache.
//
// CHANGE    d_gamma grows row by row, while x and d_y of the row are at hand; no thread goes down a column.
// EXPECT    every line is read for all of its 16 numbers, and x and d_y come from memory once: three times at
//           least.
// NUMERICS  as the parent, bit for bit: columns are added up in the same order.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

namespace klab {
namespace {

void run(const RmsnormBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  std::fill_n(x.d_gamma, c, 0.0F);
  for (int64_t i = 0; i < n; ++i) {
    const float *row = x.x + i * c, *d_y = x.d_y + i * c;
    const float rrms = x.rrms[i];
    float product = 0;
    for (int64_t j = 0; j < c; ++j) {
      const float xhat = row[j] * rrms;
      product += d_y[j] * x.gamma[j] * xhat;
      x.d_gamma[j] += d_y[j] * xhat;
    }
    product /= float(c);
    for (int64_t j = 0; j < c; ++j) x.d_x[i * c + j] = rrms * (d_y[j] * x.gamma[j] - row[j] * rrms * product);
  }
}

KLAB_VARIANT(RmsnormBwd, {.run = run,
                          .parent = "01_naive",
                          .forward = "01_naive",
                          .expect = {.shape = {8192, 1024}, .over_parent = 3}});

}  // namespace
}  // namespace klab
