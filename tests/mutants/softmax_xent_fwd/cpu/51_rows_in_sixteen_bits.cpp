// softmax_xent_fwd.cpu.51_rows_in_sixteen_bits: counts rows in 16 bits.
// Class: sizes. Must be caught as Fault::not_written.
#include <algorithm>
#include <cmath>

#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < std::min<int64_t>(n, 65535); ++i) {
    const float* row = x.logits + i * c;
    const float most = *std::max_element(row, row + c);
    double sum = 0;  // thousands of columns: not the mistake here
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j] - most);
    x.loss[i] = float(std::log(sum)) + (most - row[x.labels[i]]);
  }
}

KLAB_MUTANT(SoftmaxXentFwd, Fault::not_written, {.run = run});

}  // namespace
}  // namespace klab
