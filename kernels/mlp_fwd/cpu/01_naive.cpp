// mlp_fwd.cpu.01_naive: one sample after the other, one unit after the other.
//
// CHANGE    the definition, written as three loops.
// EXPECT    a few percent of the arithmetic peak at best: each unit is one chain of dependent additions, and
//           each input channel of a sample lies n floats from the next.
// NUMERICS  float sums in order.
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

void run(const MlpFwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  std::vector<float> h, z;
  for (int64_t i = 0; i < s.n; ++i) {
    h.resize(size_t(s.in));
    for (int64_t c = 0; c < s.in; ++c) h[size_t(c)] = x.x[c * s.n + i];
    for (int64_t layer = 0; layer < s.layers(); ++layer) {
      const int64_t from = s.from(layer), to = s.to(layer);
      const float* w = x.weights + s.weight_begin(layer);
      z.resize(size_t(to));
      for (int64_t r = 0; r < to; ++r) {
        float sum = 0;
        for (int64_t c = 0; c < from; ++c) sum += w[r * from + c] * h[size_t(c)];
        z[size_t(r)] = layer < s.hidden && sum < 0 ? 0 : sum;
      }
      h.swap(z);
    }
    for (int64_t r = 0; r < s.out; ++r)
      x.y[r * s.n + i] = s.logistic ? 1 / (1 + std::exp(-h[size_t(r)])) : h[size_t(r)];
  }
}

KLAB_VARIANT(MlpFwd, {.run = run});

}  // namespace
}  // namespace klab
