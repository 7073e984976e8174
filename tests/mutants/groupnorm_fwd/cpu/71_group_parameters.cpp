// groupnorm_fwd.cpu.71_group_parameters: gamma and beta of the group, not of the channel; right where a group is one channel.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/groupnorm_fwd/groupnorm_fwd.h"
#include "tests/mutants/mutant.h"

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
      const float gamma = x.gamma[i % groups], beta = x.beta[i % groups];
      for (int64_t k = e * hw; k < (e + 1) * hw; ++k)
        x.y[i * N + k] = gamma * ((set[k] - mean) * rstd) + beta;
    }
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_MUTANT(GroupnormFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
