#include "reference/mlp_fwd/mlp_fwd.h"

#include <cmath>

#include "reference/generator.h"

namespace klab {

// The bound, carried along with the values (a running error bound; Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., sections 3.3 and 3.5). Write g for the growth of the longest sum and let a
// variant hold h' with |h' - h| <= u g m for the inputs of a layer, m = 0 for x. It computes W h' with
//
//   |fl(W h') - W h'| <= u g |W||h'|       (a sum of `from` products, in any order)
//   |W h' - W h|      <= |W| u g m
//
// so that, to first order in u, its result z' obeys |z' - z| <= u g m_z with
//
//   m_z = |W| (|h| + m).
//
// ReLU is 1-Lipschitz: m_z is also the bound of the next layer's input. The logistic function s has |s'| <=
// 1/4 and is itself computed with a few roundings of s (exponential, addition, division), which terms() makes
// room for: m_y = m_z/4 + s. A variant that rounds weights and activations to a shorter format adds 2 u
// |W||h| a layer with that format's u; g >= 2 covers it in the same recurrence.
void MlpFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  std::vector<double> h, mh, z, mz;
  for (int64_t i = 0; i < s.n; ++i) {
    h.resize(size_t(s.in));
    mh.assign(size_t(s.in), 0.0);
    for (int64_t c = 0; c < s.in; ++c) h[size_t(c)] = x.x[c * s.n + i];
    for (int64_t layer = 0; layer < s.layers(); ++layer) {
      const int64_t from = s.from(layer), to = s.to(layer);
      const double* w = x.weights + s.weight_begin(layer);
      z.assign(size_t(to), 0.0);
      mz.assign(size_t(to), 0.0);
      for (int64_t r = 0; r < to; ++r)
        for (int64_t c = 0; c < from; ++c) {
          z[size_t(r)] += w[r * from + c] * h[size_t(c)];
          mz[size_t(r)] += std::abs(w[r * from + c]) * (std::abs(h[size_t(c)]) + mh[size_t(c)]);
        }
      if (layer < s.hidden)
        for (double& v : z) v = v > 0 ? v : 0;
      h.swap(z);
      mh.swap(mz);
    }
    for (int64_t r = 0; r < s.out; ++r) {
      double& y = x.y[r * s.n + i];
      double& m = magnitude.y[r * s.n + i];
      y = s.logistic ? 1 / (1 + std::exp(-h[size_t(r)])) : h[size_t(r)];
      m = s.logistic ? mh[size_t(r)] / 4 + y : mh[size_t(r)];
    }
  }
}

void MlpFwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  // Samples that are all zero, and so is every unit then.
  for (int64_t i = 0; random.widely && i < s.n; ++i)
    for (int64_t c = 0, zero = random() % 8 == 0; zero && c < s.in; ++c)
      const_cast<float*>(x.x)[c * s.n + i] = 0;
  float* weights = const_cast<float*>(x.weights);  // arrange() owns the inputs
  for (int64_t layer = 0; layer < s.layers(); ++layer) {
    const int half_bits = int(std::lround(0.5 * std::log2(double(s.from(layer)))));
    for (int64_t i = s.weight_begin(layer); i < s.weight_begin(layer + 1); ++i)
      weights[i] = std::ldexp(weights[i], -half_bits);
  }
}

}  // namespace klab
