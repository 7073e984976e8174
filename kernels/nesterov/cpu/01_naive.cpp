// nesterov.cpu.01_naive: one pass over memory for each line of the formula.
//
// CHANGE    the naive loops, as a library of tensor operations would run them, tensor by tensor: the gradient
//           with its decay is a separate array.
// EXPECT    3 passes over arrays that one would do for, an entry at a time.
// NUMERICS  float; terms of a tensor's step count in double, because 1 - beta^step cancels for small steps.
// NEEDS     an array as long as the parameters.
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/nesterov/nesterov.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const Nesterov::Args<float>& x) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;
  std::vector<float> g(static_cast<size_t>(n));
  for (int64_t t = 0; t < tensors; ++t) {
    const float* h = x.hyper + t * kHypers;
    const int64_t begin = begin_of(n, tensors, t), end = begin_of(n, tensors, t + 1);
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i) g[size_t(i)] = x.gradient[i] + h[decay] * x.param[i];
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i) x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * g[size_t(i)];
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i)
      x.param[i] -= h[rate] * (h[beta1] * x.m[i] + (1 - h[beta1]) * g[size_t(i)]);
  }
}

KLAB_VARIANT(Nesterov, {.run = run});

}  // namespace
}  // namespace klab
