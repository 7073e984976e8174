// mlp_bwd.cpu.01_naive: one sample after the other, forward and back again.
//
// CHANGE    the chain rule, written as loops.
// EXPECT    as slow as the naive forward for each operation; sums into d_weights are at least independent of
//           each other.
// NUMERICS  float sums in order; d_weights adds up all samples in one float.
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

void run(const MlpBwd::Args<float>& x) {
  const MlpBwd::Shape& s = x.shape;
  std::vector<std::vector<float>> h(
      size_t(s.layers() + 1));  // h[0] the inputs, h[l] the outputs of layer l-1
  std::vector<float> d, next;
  for (int64_t i = 0; i < s.n; ++i) {
    h[0].resize(size_t(s.in));
    for (int64_t c = 0; c < s.in; ++c) h[0][size_t(c)] = x.x[c * s.n + i];
    for (int64_t l = 0; l < s.layers(); ++l) {
      const int64_t from = s.from(l), to = s.to(l);
      const float* w = x.weights + s.weight_begin(l);
      std::vector<float>&in = h[size_t(l)], &out = h[size_t(l + 1)];
      out.resize(size_t(to));
      for (int64_t r = 0; r < to; ++r) {
        float sum = 0;
        for (int64_t c = 0; c < from; ++c) sum += w[r * from + c] * in[size_t(c)];
        out[size_t(r)] = l < s.hidden && sum < 0 ? 0 : sum;
      }
    }
    d.resize(size_t(s.out));
    for (int64_t r = 0; r < s.out; ++r) {
      d[size_t(r)] = x.d_y[r * s.n + i];
      if (!s.logistic) continue;
      const float y = 1 / (1 + std::exp(-h.back()[size_t(r)])),
                  rest = 1 / (1 + std::exp(h.back()[size_t(r)]));
      d[size_t(r)] *= y * rest;
    }
    for (int64_t l = s.hidden; l >= 0; --l) {
      const int64_t from = s.from(l), to = s.to(l), begin = s.weight_begin(l);
      next.assign(size_t(from), 0.0F);
      for (int64_t r = 0; r < to; ++r)
        for (int64_t c = 0; c < from; ++c) {
          x.d_weights[begin + r * from + c] += d[size_t(r)] * h[size_t(l)][size_t(c)];
          next[size_t(c)] += x.weights[begin + r * from + c] * d[size_t(r)];
        }
      for (int64_t c = 0; c < from; ++c) {
        if (l == 0)
          x.d_x[c * s.n + i] = next[size_t(c)];
        else if (!(h[size_t(l)][size_t(c)] > 0))
          next[size_t(c)] = 0;
      }
      d.swap(next);
    }
  }
}

KLAB_VARIANT(MlpBwd, {.run = run});

}  // namespace
}  // namespace klab
