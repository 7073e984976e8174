// layernorm_bwd.cpu.02_rows: everything about a row while it is in the cache.
//
// CHANGE    d_gamma and d_beta grow row by row, while x and d_y of the row are at hand; no thread goes down a
//           column.
// EXPECT    every line is read for all of its 16 numbers, and x and d_y come from memory once, not twice or
//           more. Where rows are a power of two long the columns of the parent also fall into few sets of the
//           cache: five times at least.
// NUMERICS  as the parent, bit for bit: columns are added up in the same order.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

namespace klab {
namespace {

void run(const LayernormBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  std::fill_n(x.d_gamma, c, 0.0F);
  std::fill_n(x.d_beta, c, 0.0F);
  for (int64_t i = 0; i < n; ++i) {
    const float *row = x.x + i * c, *d_y = x.d_y + i * c;
    const float mean = x.mean[i], rstd = x.rstd[i];
    float sum = 0, product = 0;
    for (int64_t j = 0; j < c; ++j) {
      const float xhat = (row[j] - mean) * rstd, g = d_y[j] * x.gamma[j];
      sum += g;
      product += g * xhat;
      x.d_gamma[j] += d_y[j] * xhat;
      x.d_beta[j] += d_y[j];
    }
    sum /= float(c);
    product /= float(c);
    for (int64_t j = 0; j < c; ++j)
      x.d_x[i * c + j] = rstd * (d_y[j] * x.gamma[j] - sum - (row[j] - mean) * rstd * product);
  }
}

KLAB_VARIANT(LayernormBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "01_naive",
                            .expect = {.shape = {8192, 1024}, .over_parent = 3}});

}  // namespace
}  // namespace klab
