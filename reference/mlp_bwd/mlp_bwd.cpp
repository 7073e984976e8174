#include "reference/mlp_bwd/mlp_bwd.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {
namespace {

using Shape = MlpBwd::Shape;

/// One sample's activations and their error bounds in units of u·growth (see mlp_fwd.cpp): h[0] is the input,
/// h[l] the output of hidden layer l-1, h[layers] the outputs before the logistic function.
struct Trace {
  std::vector<std::vector<double>> h, m;
};

void forward(const Shape& s, const double* x, const double* weights, int64_t sample, Trace& t) {
  t.h.resize(size_t(s.layers() + 1));
  t.m.resize(size_t(s.layers() + 1));
  t.h[0].resize(size_t(s.in));
  t.m[0].assign(size_t(s.in), 0.0);
  for (int64_t c = 0; c < s.in; ++c) t.h[0][size_t(c)] = x[c * s.n + sample];
  for (int64_t layer = 0; layer < s.layers(); ++layer) {
    const size_t l = size_t(layer);
    const int64_t from = s.from(layer), to = s.to(layer);
    const double* w = weights + s.weight_begin(layer);
    t.h[l + 1].assign(size_t(to), 0.0);
    t.m[l + 1].assign(size_t(to), 0.0);
    for (int64_t r = 0; r < to; ++r) {
      for (int64_t c = 0; c < from; ++c) {
        t.h[l + 1][size_t(r)] += w[r * from + c] * t.h[l][size_t(c)];
        t.m[l + 1][size_t(r)] +=
            std::abs(w[r * from + c]) * (std::abs(t.h[l][size_t(c)]) + t.m[l][size_t(c)]);
      }
      if (layer < s.hidden) t.h[l + 1][size_t(r)] = std::max(t.h[l + 1][size_t(r)], 0.0);
    }
  }
}

}  // namespace

// With D_l the gradient with respect to the pre-activations of layer l, h_l its inputs (h_0 = x):
//
//   D_L     = d_y                      or, with the logistic function,  d_y s(z)(1 - s(z))
//   dW_l   += D_l h_l^T                (summed over samples)
//   D_{l-1} = (W_l^T D_l) where h_l > 0, else 0
//   d_x     = W_0^T D_0
//
// The bound is carried along as in mlp_fwd.cpp: a variant holds D' with |D' - D| <= u g d, h' with
// |h' - h| <= u g m. arrange() keeps z away from 0, so the variant's mask is the reference's. To first order
// in u:
//
//   d_L     = 0                        or  |d_y| (m_z/10 + 2 s):  |(s(1-s))'| <= 1/(6 sqrt 3) < 1/10, and
//                                      roundings relative to s of s and of 1-s, room for them in unit_terms()
//   d_{l-1} = |W_l|^T (|D_l| + d_l)    where h_l > 0
//   dW_l    : |dW_l before| + sum over samples of |D|(|h| + m) + d |h|
//
// One growth serves two lengths of sum: K = terms() for the samples and k = unit_terms() <= K for one unit.
// The quantities of one unit are therefore scaled by sqrt(k/K): growth(K) sqrt(k/K) >= growth(k) both for
// growth K and, to the room left in k, for growth 4 sqrt(K).
void MlpBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const double unit_scale = std::sqrt(unit_terms(s) / terms(s));
  for (int64_t i = 0; i < s.weights(); ++i) magnitude.d_weights[i] = std::abs(x.d_weights[i]);
  Trace t;
  std::vector<double> d, md, next, mnext;
  for (int64_t i = 0; i < s.n; ++i) {
    forward(s, x.x, x.weights, i, t);
    d.resize(size_t(s.out));
    md.assign(size_t(s.out), 0.0);
    for (int64_t r = 0; r < s.out; ++r) {
      const double given = x.d_y[r * s.n + i];
      d[size_t(r)] = given;
      if (!s.logistic) continue;
      const double z = t.h.back()[size_t(r)], y = 1 / (1 + std::exp(-z)), rest = 1 / (1 + std::exp(z));
      d[size_t(r)] = given * y * rest;
      md[size_t(r)] = std::abs(given) * (t.m.back()[size_t(r)] / 10 + 2 * y);
    }
    for (int64_t layer = s.hidden; layer >= 0; --layer) {
      const int64_t from = s.from(layer), to = s.to(layer), begin = s.weight_begin(layer);
      const std::vector<double>&h = t.h[size_t(layer)], &mh = t.m[size_t(layer)];
      next.assign(size_t(from), 0.0);
      mnext.assign(size_t(from), 0.0);
      for (int64_t r = 0; r < to; ++r)
        for (int64_t c = 0; c < from; ++c) {
          const double w = x.weights[begin + r * from + c], a = std::abs(d[size_t(r)]);
          x.d_weights[begin + r * from + c] += d[size_t(r)] * h[size_t(c)];
          magnitude.d_weights[begin + r * from + c] +=
              a * std::abs(h[size_t(c)]) +
              unit_scale * (a * mh[size_t(c)] + md[size_t(r)] * std::abs(h[size_t(c)]));
          next[size_t(c)] += w * d[size_t(r)];
          mnext[size_t(c)] += std::abs(w) * (a + md[size_t(r)]);
        }
      for (int64_t c = 0; c < from; ++c) {
        if (layer == 0) {
          x.d_x[c * s.n + i] = next[size_t(c)];
          magnitude.d_x[c * s.n + i] = unit_scale * mnext[size_t(c)];
        } else if (!(h[size_t(c)] > 0)) {
          next[size_t(c)] = mnext[size_t(c)] = 0;
        }
      }
      d.swap(next);
      md.swap(mnext);
    }
  }
}

// Signs are dealt so that no sum in front of a ReLU cancels. Sample i gets a sign s_i, which all its inputs
// take; unit j of hidden layer l gets a sign t_lj; a weight from k to j takes t_lj (first layer) or t_lj
// t_{l-1,k}. Then, with non-negative magnitudes,
//
//   first layer:  z_j = t_0j s_i Σ|w||x|      positive where the signs of unit and sample agree
//   later ones:   z_j = t_lj s_i Σ|w||h|      because only units k with t_{l-1,k} = s_i are alive
//
// so |z| is as large as its terms allow, while masks still differ from unit to unit and from sample to
// sample. The output layer and d_y keep their drawn signs. Magnitudes below a quarter of the root mean square
// of their tensor are lifted to it, for layers of very few units.
void MlpBwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  MlpFwd::arrange({.shape = s, .x = x.x, .weights = x.weights, .y = nullptr}, random);
  float* input = const_cast<float*>(x.x);  // arrange() owns the inputs
  float* weights = const_cast<float*>(x.weights);
  const auto sign = [&random] { return random() >> 63 ? 1.0F : -1.0F; };
  const auto lifted = [](const float* p, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += double(p[i]) * double(p[i]);
    return [floor = float(0.25 * std::sqrt(sum / double(std::max<int64_t>(count, 1))))](float v) {
      return std::max(std::abs(v), floor);
    };
  };

  std::vector<float> samples(size_t(s.n)), unit(size_t(s.width)), previous(size_t(s.in), 1.0F);
  for (float& v : samples) v = sign();
  const auto lift_x = lifted(input, s.in * s.n);
  for (int64_t c = 0; c < s.in; ++c)
    for (int64_t i = 0; i < s.n; ++i) input[c * s.n + i] = samples[size_t(i)] * lift_x(input[c * s.n + i]);
  for (int64_t layer = 0; layer < s.hidden; ++layer) {
    float* w = weights + s.weight_begin(layer);
    const int64_t from = s.from(layer);
    const auto lift_w = lifted(w, s.width * from);
    for (float& v : unit) v = sign();
    for (int64_t r = 0; r < s.width; ++r)
      for (int64_t c = 0; c < from; ++c)
        w[r * from + c] = unit[size_t(r)] * previous[size_t(c)] * lift_w(w[r * from + c]);
    previous = unit;
  }
}

}  // namespace klab
