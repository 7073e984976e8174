// adam.cpu.50_epsilon_of_its_own: has the usual epsilon hard-coded.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cmath>

#include "reference/adam/adam.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Adam::Args<float>& x) {
  const float* h = x.hyper;
  for (int64_t j = 0; j < Adam::groups(x.shape); ++j) {
    const int64_t begin = j * x.shape.group, end = std::min(x.shape.n, begin + x.shape.group);
    if (std::all_of(x.gradient + begin, x.gradient + end, [](float g) { return g == 0; })) continue;
    ++x.steps[j];
    const double c1 = 1 - std::pow(double(h[Adam::beta1]), x.steps[j]);
    const double c2 = 1 - std::pow(double(h[Adam::beta2]), x.steps[j]);
    for (int64_t i = begin; i < end; ++i) {
      const float g = x.gradient[i] + h[Adam::l2] * x.param[i];
      x.m[i] = h[Adam::beta1] * x.m[i] + (1 - h[Adam::beta1]) * g;
      x.v[i] = h[Adam::beta2] * x.v[i] + (1 - h[Adam::beta2]) * g * g;
      x.param[i] -= h[Adam::rate] * float(x.m[i] / c1) / (std::sqrt(float(x.v[i] / c2)) + 1e-15F);
    }
  }
}

KLAB_MUTANT(Adam, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
