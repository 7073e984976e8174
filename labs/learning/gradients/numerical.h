// Gradients by differences: no derivative is known, and the function is evaluated at neighboring points.
//
// A difference quotient has two errors. It truncates Taylor's series: |f''|·h/2 for a one-sided difference,
// |f'''|·h²/6 for a central one. And it subtracts nearly equal numbers, each of which carries a rounding of
// u·|f|: at most u·|f|·2/h one-sided, u·|f|/h central. The first falls with h, the second grows, and the best
// h lies where they meet: near √u, or the third root of u. (Nocedal and Wright, Numerical Optimization,
// section 8.1.)
#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace klab::gradients {

/// Returns the one-sided difference in coordinate i.
template <class F>
double one_sided(const F& f, std::vector<double> x, size_t i, double h) {
  const double before = f(x);
  x[i] += h;
  return (f(x) - before) / h;
}

/// Returns the central difference in coordinate i.
template <class F>
double central(const F& f, std::vector<double> x, size_t i, double h) {
  const double at = x[i];
  x[i] = at + h;
  const double after = f(x);
  x[i] = at - h;
  return (after - f(x)) / (2 * h);
}

/// Returns the whole gradient by central differences: 2n calls of f.
template <class F>
std::vector<double> numerical_gradient(const F& f, const std::vector<double>& x, double h = 6e-6) {
  std::vector<double> gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) gradient[i] = central(f, x, i, h);
  return gradient;
}

/// The errors of differences with one step size, and their bounds in theory.
struct DifferenceError {
  double h = 0;
  double one_sided = 0, central = 0;                // |quotient - derivative|, measured
  double truncation_one_sided = 0, truncation = 0;  // of Taylor's series
  double rounding = 0;                              // u·|f|/h
};

/// Exact derivatives of f in one coordinate at the evaluated point.
struct Exact {
  double value, first, second, third;
};

/// Returns the errors for each step size in the list.
template <class F>
std::vector<DifferenceError> difference_errors(const F& f, const std::vector<double>& x, size_t i,
                                               const Exact& exact, std::span<const double> steps) {
  std::vector<DifferenceError> list;
  for (const double h : steps)
    list.push_back({.h = h,
                    .one_sided = std::abs(one_sided(f, x, i, h) - exact.first),
                    .central = std::abs(central(f, x, i, h) - exact.first),
                    .truncation_one_sided = std::abs(exact.second) * h / 2,
                    .truncation = std::abs(exact.third) * h * h / 6,
                    .rounding = std::abs(exact.value) * 0x1p-53 / h});
  return list;
}

}  // namespace klab::gradients
