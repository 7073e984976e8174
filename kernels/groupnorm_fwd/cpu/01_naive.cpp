// groupnorm_fwd.cpu.01_naive: group by group, as the formulas read.
//
// CHANGE    the naive loops: for each group of each example its mean, its variance, its outputs.
// EXPECT    chains of additions, as of layernorm_fwd: a group is a row of each·hw numbers.
// NUMERICS  two passes; one float accumulator.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

namespace klab {
namespace {

void run(const GroupnormFwd::Args<float>& x) {
  const auto [n, groups, each, hw] = x.shape;
  const int64_t N = each * hw;
  for (int64_t i = 0; i < n * groups; ++i) {
    const float* set = x.x + i * N;
    float sum = 0;
    for (int64_t k = 0; k < N; ++k) sum += set[k];
    const float mean = sum / float(N);
    float squares = 0;
    for (int64_t k = 0; k < N; ++k) squares += (set[k] - mean) * (set[k] - mean);
    const float rstd = 1 / std::sqrt(squares / float(N) + *x.epsilon);
    for (int64_t e = 0; e < each; ++e) {
      const float gamma = x.gamma[i % groups * each + e], beta = x.beta[i % groups * each + e];
      for (int64_t k = e * hw; k < (e + 1) * hw; ++k)
        x.y[i * N + k] = gamma * ((set[k] - mean) * rstd) + beta;
    }
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_VARIANT(GroupnormFwd, {.run = run});

}  // namespace
}  // namespace klab
