// adam.cpu.02_fused: everything about an entry while it is in registers.
//
// CHANGE    one pass: each array is read once and written once.
// EXPECT    beyond the caches, near twice the parent if memory were all; the powers and roots hide part of
//           it.
// NUMERICS  as the parent: the same operations, so the same bits.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/adam/adam.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const Adam::Args<float>& x) {
  const float* h = x.hyper;
  const int64_t n = x.shape.n, group = x.shape.group;
  for (int64_t j = 0; j < Adam::groups(x.shape); ++j) {
    const int64_t begin = j * group, end = std::min(n, begin + group);
    if (std::all_of(x.gradient + begin, x.gradient + end, [](float g) { return g == 0; })) continue;
    ++x.steps[j];
    const float correct1 = float(1 - std::pow(double(h[Adam::beta1]), x.steps[j]));
    const float correct2 = float(1 - std::pow(double(h[Adam::beta2]), x.steps[j]));
    KLAB_SCALAR_LOOP
    for (int64_t i = begin; i < end; ++i) {
      const float g = x.gradient[i] + h[Adam::l2] * x.param[i];
      x.m[i] = h[Adam::beta1] * x.m[i] + (1 - h[Adam::beta1]) * g;
      x.v[i] = h[Adam::beta2] * x.v[i] + (1 - h[Adam::beta2]) * g * g;
      x.param[i] -= h[Adam::rate] * (x.m[i] / correct1) / (std::sqrt(x.v[i] / correct2) + h[Adam::epsilon]);
    }
  }
}

KLAB_VARIANT(Adam,
             {.run = run, .parent = "01_naive", .expect = {.shape = {1 << 23, 2, 0}, .over_parent = 1.05}});

}  // namespace
}  // namespace klab
