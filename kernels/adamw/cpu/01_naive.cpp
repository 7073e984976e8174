// adamw.cpu.01_naive: one pass over memory for each line of the formula.
//
// CHANGE    the naive loops, as a library of tensor operations would run them, tensor by tensor.
// EXPECT    4 passes over arrays that one would do for, an entry at a time.
// NUMERICS  float; terms of a tensor's step count in double, because 1 - beta^step cancels for small steps.
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/adamw/adamw.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const Adamw::Args<float>& x) {
  using namespace optimizer;
  const int64_t n = x.shape.n, tensors = x.shape.tensors;

  for (int64_t t = 0; t < tensors; ++t) {
    const float* h = x.hyper + t * kHypers;
    const int64_t begin = begin_of(n, tensors, t), end = begin_of(n, tensors, t + 1);
    const int32_t step = ++x.steps[t];
    const float correct1 = float(1 - std::pow(double(h[beta1]), step));
    const float correct2 = float(1 - std::pow(double(h[beta2]), step));
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i) x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * x.gradient[i];
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i)
      x.v[i] = h[beta2] * x.v[i] + (1 - h[beta2]) * x.gradient[i] * x.gradient[i];
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i) x.param[i] -= h[rate] * h[decay] * x.param[i];
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i)
      x.param[i] -= h[rate] * (x.m[i] / correct1) / (std::sqrt(x.v[i] / correct2) + h[epsilon]);
  }
}

KLAB_VARIANT(Adamw, {.run = run});

}  // namespace
}  // namespace klab
