// layernorm_fwd.cpu.02_accumulators: sixteen running sums in place of one.
//
// CHANGE    sixteen chains in each of the two sums: an addition need not wait for the one before it, and
//           neighbors can share a vector.
// EXPECT    the two sums cost a sixteenth of the waiting, and the compiler, which may not reorder a sum of
//           floats but finds sixteen written out, vectorizes them on its own: three times at least.
// NUMERICS  sixteen partial sums: fewer roundings in a row than the parent.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {
namespace {

constexpr int kChains = 16;

/// Sum of at(j) over the row, which is called for neighbors.
template <class At>
float sum_of(int64_t c, const At& at) {
  float chain[kChains] = {};
  int64_t j = 0;
  for (; j + kChains <= c; j += kChains)
    for (int k = 0; k < kChains; ++k) chain[k] += at(j + k);
  for (; j < c; ++j) chain[0] += at(j);
  for (int half = kChains / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) chain[k] += chain[k + half];
  return chain[0];
}

void run(const LayernormFwd::Args<float>& x) {
  const int64_t n = x.shape.n, c = x.shape.c;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.x + i * c;
    float* y = x.y + i * c;
    const float mean = sum_of(c, [row](int64_t j) { return row[j]; }) / float(c);
    const float squares = sum_of(c, [row, mean](int64_t j) { return (row[j] - mean) * (row[j] - mean); });
    const float rstd = 1 / std::sqrt(squares / float(c) + *x.epsilon);
    for (int64_t j = 0; j < c; ++j) y[j] = x.gamma[j] * ((row[j] - mean) * rstd) + x.beta[j];
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {kChains},
                            .expect = {.shape = {8192, 1024}, .over_parent = 3}});

}  // namespace
}  // namespace klab
