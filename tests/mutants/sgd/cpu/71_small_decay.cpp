// sgd.cpu.71_small_decay: a decay below 1e-4 is taken for none.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <cmath>
#include <vector>

#include "kernels/common/scalar.h"
#include "reference/sgd/sgd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const Sgd::Args<float>& x) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  std::vector<float> g(static_cast<size_t>(n));
  for (int64_t t = 0; t < tensors; ++t) {
    const float* h = x.hyper + t * kHypers;
    const int64_t begin = begin_of(n, tensors, t), end = begin_of(n, tensors, t + 1);
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i)
      g[size_t(i)] = x.gradient[i] + (h[decay] >= 1e-4F ? h[decay] : 0.0F) * x.param[i];
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i) x.param[i] -= h[rate] * g[size_t(i)];
  }
}

KLAB_MUTANT(Sgd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
