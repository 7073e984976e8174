// mlp_narrow_fwd.cpu.01_naive: one sample after the other, each weight widened as it is used.
//
// CHANGE    the definition, written as three loops.
// EXPECT    below mlp_fwd's first rung by the conversion of a weight for each product: the weights of a network fit into
//           L1 in any format, so fewer bytes win nothing here.
// NUMERICS  float sums in order; a row's factor behind its sum.
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

namespace klab {
namespace {

void run(const MlpNarrowFwd::Args<float>& x) {
  const MlpFwd::Shape s = x.shape.network();
  std::vector<float> h, z;
  for (int64_t i = 0; i < s.n; ++i) {
    h.resize(size_t(s.in));
    for (int64_t c = 0; c < s.in; ++c) h[size_t(c)] = x.x[c * s.n + i];
    for (int64_t layer = 0; layer < s.layers(); ++layer) {
      const int64_t from = s.from(layer), to = s.to(layer);
      z.resize(size_t(to));
      for (int64_t r = 0; r < to; ++r) {
        const int64_t row = s.weight_begin(layer) + r * from;
        float sum = 0;
        for (int64_t c = 0; c < from; ++c)
          sum += narrow_number(x.shape.format, x.halves, x.bytes, row + c) * h[size_t(c)];
        if (x.shape.format == narrow_format::int8) sum *= x.factors[layer * s.width + r];
        z[size_t(r)] = layer < s.hidden && sum < 0 ? 0 : sum;
      }
      h.swap(z);
    }
    for (int64_t r = 0; r < s.out; ++r)
      x.y[r * s.n + i] = s.logistic ? 1 / (1 + std::exp(-h[size_t(r)])) : h[size_t(r)];
  }
}

KLAB_VARIANT(MlpNarrowFwd, {.run = run});

}  // namespace
}  // namespace klab
