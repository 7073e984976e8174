// Forward mode: numbers that carry their slope with them.
//
// A dual number a + b·ε with ε² = 0 obeys f(a + b·ε) = f(a) + f'(a)·b·ε. So a program written for any number
// type, called with dual numbers, computes its value and its derivative in one direction: exactly, without a
// step size. A gradient of n inputs takes n passes, one for each direction. (Griewank and Walther, Evaluating
// Derivatives, section 3.1.)
#pragma once

#include <cmath>
#include <vector>

namespace klab::gradients {

struct Dual {
  double value = 0, slope = 0;
  Dual(double v = 0, double s = 0) : value(v), slope(s) {}  // NOLINT: a constant has no slope
};

inline Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
inline Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
inline Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
inline Dual operator/(Dual a, Dual b) {
  const double quotient = a.value / b.value;
  return {quotient, (a.slope - quotient * b.slope) / b.value};
}
inline Dual exp(Dual a) { return {std::exp(a.value), std::exp(a.value) * a.slope}; }
inline Dual log(Dual a) { return {std::log(a.value), a.slope / a.value}; }
inline Dual sin(Dual a) { return {std::sin(a.value), std::cos(a.value) * a.slope}; }
inline Dual cos(Dual a) { return {std::cos(a.value), -std::sin(a.value) * a.slope}; }
inline Dual sqrt(Dual a) { return {std::sqrt(a.value), a.slope / (2 * std::sqrt(a.value))}; }
inline Dual tanh(Dual a) {
  const double y = std::tanh(a.value);
  return {y, (1 - y * y) * a.slope};
}

/// Returns the gradient of f, a callable of std::vector<Dual>. Adds one to `passes` for each call.
template <class F>
std::vector<double> forward_gradient(const F& f, const std::vector<double>& x, int* passes = nullptr) {
  std::vector<double> gradient(x.size());
  std::vector<Dual> seeds(x.begin(), x.end());
  for (size_t i = 0; i < x.size(); ++i) {
    seeds[i].slope = 1;
    gradient[i] = f(seeds).slope;
    seeds[i].slope = 0;
    if (passes != nullptr) ++*passes;
  }
  return gradient;
}

}  // namespace klab::gradients
