// A network with factors of e4m3 and float sums like a rung's, but for one mistake. Shared by the specimens
// of such rungs. Each sample and each layer's matrix has a power of two that brings its largest number to
// between 2^7 and 2^8.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/formats.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {

enum class Fp8Mistake {
  none,
  scale_twice,         // of a matrix that had to be enlarged: sums are divided by it twice
  scale_forgotten,     // nothing is scaled: values beyond 448 become 448
  sums_of_eight_bits,  // each addition rounds to e4m3, at the scale of the sum so far
};

inline float as_e4m3(float x) { return float(decode(kE4m3, encode(kE4m3, double(x)))); }

inline int fp8_exponent(const std::vector<float>& values) {
  float most = 0;
  for (const float v : values) most = std::max(most, std::abs(v));
  return most > 0 ? 7 - std::ilogb(most) : 0;
}

/// sum + term with four digits.
inline float sum_of_four_digits(float sum, float term) {
  const float exact = sum + term;
  if (exact == 0) return 0;
  const int e = std::ilogb(exact);
  return std::ldexp(as_e4m3(std::ldexp(exact, -e)), e);
}

template <Fp8Mistake mistake>
void fp8_network(const MlpFwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  constexpr bool scaled = mistake != Fp8Mistake::scale_forgotten;
  std::vector<std::vector<float>> weights;
  std::vector<int> of_weights;
  for (int64_t l = 0; l < s.layers(); ++l) {
    std::vector<float> w(x.weights + s.weight_begin(l), x.weights + s.weight_begin(l + 1));
    of_weights.push_back(scaled ? fp8_exponent(w) : 0);
    for (float& v : w) v = as_e4m3(std::ldexp(v, of_weights.back()));
    weights.push_back(std::move(w));
  }
  std::vector<float> h, next;
  for (int64_t i = 0; i < s.n; ++i) {
    h.resize(size_t(s.in));
    for (int64_t c = 0; c < s.in; ++c) h[size_t(c)] = x.x[c * s.n + i];
    for (int64_t l = 0; l < s.layers(); ++l) {
      const auto from = size_t(s.from(l));
      const int e = scaled ? fp8_exponent(h) : 0, w = of_weights[size_t(l)];
      for (float& v : h) v = as_e4m3(std::ldexp(v, e));
      next.assign(size_t(s.to(l)), 0);
      for (size_t r = 0; r < next.size(); ++r) {
        float sum = 0;
        for (size_t c = 0; c < from; ++c) {
          const float term = weights[size_t(l)][r * from + c] * h[c];
          sum = mistake == Fp8Mistake::sums_of_eight_bits ? sum_of_four_digits(sum, term) : sum + term;
        }
        next[r] = std::ldexp(sum, -e - (mistake == Fp8Mistake::scale_twice ? w + std::max(w, 0) : w));
        if (l < s.hidden) next[r] = std::max(next[r], 0.0F);
      }
      h.swap(next);
    }
    for (int64_t r = 0; r < s.out; ++r)
      x.y[r * s.n + i] = s.logistic ? 1 / (1 + std::exp(-h[size_t(r)])) : h[size_t(r)];
  }
}

}  // namespace klab
