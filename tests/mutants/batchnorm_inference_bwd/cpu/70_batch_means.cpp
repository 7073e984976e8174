// batchnorm_inference_bwd.cpu.70_batch_means: the two means of batch statistics, where the statistics are constants.
// Must be caught as Fault::wrong_value.
#include <cmath>
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"
#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const BatchnormInferenceBwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  std::vector<float> rstd(static_cast<size_t>(c));
  for (int64_t j = 0; j < c; ++j) rstd[size_t(j)] = 1 / std::sqrt(x.running_var[j] + *x.epsilon);
  call<BatchnormBwd>(
      *find_variant("batchnorm_bwd.cpu.01_naive"),
      {{n, c, hw}, x.x, x.gamma, x.running_mean, rstd.data(), x.d_y, x.d_x, x.d_gamma, x.d_beta});
}

KLAB_MUTANT(BatchnormInferenceBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
