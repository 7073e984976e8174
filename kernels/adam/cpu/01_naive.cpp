// adam.cpu.01_naive: one pass over memory for each line of the formula.
//
// CHANGE    the naive loops, as a library of tensor operations would run them: counts, m, v, parameters.
// EXPECT    each array crosses the cache border several times; one power for every group.
// NUMERICS  float; the bias corrections in double, because 1 - beta^step cancels for small steps.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/adam/adam.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const Adam::Args<float>& x) {
  const float* h = x.hyper;
  const int64_t n = x.shape.n, group = x.shape.group, groups = Adam::groups(x.shape);
  std::vector<char> live(static_cast<size_t>(groups));
  KLAB_SCALAR_LOOP
  for (int64_t j = 0; j < groups; ++j) {
    const int64_t begin = j * group, end = std::min(n, begin + group);
    live[size_t(j)] = std::any_of(x.gradient + begin, x.gradient + end, [](float g) { return g != 0; });
    x.steps[j] += live[size_t(j)];
  }
  for (int64_t j = 0; j < groups; ++j) {
    KLAB_SCALAR_LOOP
    for (int64_t i = j * group; live[size_t(j)] && i < std::min(n, (j + 1) * group); ++i)
      x.m[i] = h[Adam::beta1] * x.m[i] + (1 - h[Adam::beta1]) * (x.gradient[i] + h[Adam::l2] * x.param[i]);
  }
  for (int64_t j = 0; j < groups; ++j) {
    KLAB_SCALAR_LOOP
    for (int64_t i = j * group; live[size_t(j)] && i < std::min(n, (j + 1) * group); ++i) {
      const float g = x.gradient[i] + h[Adam::l2] * x.param[i];
      x.v[i] = h[Adam::beta2] * x.v[i] + (1 - h[Adam::beta2]) * g * g;
    }
  }
  for (int64_t j = 0; j < groups; ++j) {
    if (!live[size_t(j)]) continue;
    const float correct1 = float(1 - std::pow(double(h[Adam::beta1]), x.steps[j]));
    const float correct2 = float(1 - std::pow(double(h[Adam::beta2]), x.steps[j]));
    KLAB_SCALAR_LOOP
    for (int64_t i = j * group; i < std::min(n, (j + 1) * group); ++i)
      x.param[i] -= h[Adam::rate] * (x.m[i] / correct1) / (std::sqrt(x.v[i] / correct2) + h[Adam::epsilon]);
  }
}

KLAB_VARIANT(Adam, {.run = run});

}  // namespace
}  // namespace klab
