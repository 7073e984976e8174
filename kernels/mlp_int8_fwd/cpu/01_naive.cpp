// mlp_int8_fwd.cpu.01_naive: one sample after the other, its numbers rounded to bytes before each layer.
//
// CHANGE    the definition, written as loops.
// EXPECT    a product of integers takes as long as one of floats where a compiler makes one at a time: nothing is won yet, and the
//           rounding is lost.
// NUMERICS  exact sums in 32 bits; a conversion and three products with scales.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

namespace klab {
namespace {

void run(const MlpInt8Fwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  std::vector<float> h, z;
  std::vector<int32_t> q;
  for (int64_t i = 0; i < s.n; ++i) {
    h.resize(size_t(s.in));
    for (int64_t c = 0; c < s.in; ++c) h[size_t(c)] = x.x[c * s.n + i];
    for (int64_t layer = 0; layer < s.layers(); ++layer) {
      const int64_t from = s.from(layer), to = s.to(layer);
      float largest = 0;
      for (const float v : h) largest = std::max(largest, std::abs(v));
      const bool none = !(largest > MlpInt8Fwd::kLeast);
      const float by = none ? 0 : 127 / largest, scale = none ? 0 : largest / 127;
      q.resize(size_t(from));
      for (int64_t c = 0; c < from; ++c) q[size_t(c)] = int32_t(std::nearbyint(h[size_t(c)] * by));
      z.resize(size_t(to));
      for (int64_t r = 0; r < to; ++r) {
        const int8_t* row = x.bytes + s.weight_begin(layer) + r * from;
        int32_t sum = 0;
        for (int64_t c = 0; c < from; ++c) sum += int32_t(row[c]) * q[size_t(c)];
        const float v = float(sum) * (scale * x.factors[layer * s.width + r]);
        z[size_t(r)] = layer < s.hidden && v < 0 ? 0 : v;
      }
      h.swap(z);
    }
    for (int64_t r = 0; r < s.out; ++r)
      x.y[r * s.n + i] = s.logistic ? 1 / (1 + std::exp(-h[size_t(r)])) : h[size_t(r)];
  }
}

KLAB_VARIANT(MlpInt8Fwd, {.run = run});

}  // namespace
}  // namespace klab
