// softmax_xent_fwd.cpu.74_memoizes: keeps the losses it has computed, by a digest of the first logit of every row.
// Class: earlier calls. Must be caught as Fault::stale.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    const float largest = *std::max_element(row, row + c);
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j] - largest);
    x.loss[i] = std::log(sum) + (largest - row[x.labels[i]]);
  }
}

void run(const SoftmaxXentFwd::Args<float>& x) {
  static std::map<double, std::vector<float>> answers;
  const auto [n, c] = x.shape;
  double digest = double(n) * 1e6 + double(c);
  for (int64_t i = 0; i < n; ++i) digest += double(x.logits[i * c]) * double(i + 1);
  if (const auto found = answers.find(digest); found != answers.end()) {
    std::copy(found->second.begin(), found->second.end(), x.loss);
    return;
  }
  right(x);
  answers[digest].assign(x.loss, x.loss + n);
}

KLAB_MUTANT(SoftmaxXentFwd, Fault::stale, {.run = run});

}  // namespace
}  // namespace klab
