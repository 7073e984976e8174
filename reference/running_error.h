// A value in double with a bound on the error of the same formula in a shorter arithmetic.
//
// Running error analysis (Wilkinson; Higham, "Accuracy and Stability of Numerical Algorithms", section 3.3):
// each operation hands on the errors of its operands and adds its own rounding, to first order in the unit
// roundoff u. The bound is for the formula as written; a contract's `terms` leaves room for equivalent
// formulas in another order.
#pragma once

#include <algorithm>
#include <cmath>

namespace klab {

struct RunningError {
  double value = 0;
  double error = 0;  // in units of u

  /// Loss of a product or a quotient in float where it is denormal: a step of 2^-149.
  static constexpr double underflow = 0x1p-125;

  RunningError() = default;
  RunningError(double exact) : value(exact) {}  // NOLINT: also implicitly; inputs and small whole numbers
  RunningError(double v, double e) : value(v), error(e) {}

  friend RunningError operator-(RunningError a) { return {-a.value, a.error}; }
  friend RunningError operator+(RunningError a, RunningError b) {
    const double v = a.value + b.value;
    return {v, a.error + b.error + std::abs(v)};
  }
  friend RunningError operator-(RunningError a, RunningError b) { return a + -b; }
  friend RunningError operator*(RunningError a, RunningError b) {
    const double v = a.value * b.value;
    return {v, std::abs(a.value) * b.error + std::abs(b.value) * a.error + std::abs(v) + underflow};
  }
  friend RunningError operator/(RunningError a, RunningError b) {
    const double v = a.value / b.value;
    return {v, (a.error + std::abs(v) * b.error) / std::abs(b.value) + std::abs(v) + underflow};
  }
  RunningError& operator+=(RunningError b) { return *this = *this + b; }
  RunningError& operator-=(RunningError b) { return *this = *this - b; }
};

/// A constant that is rounded before it is used.
inline RunningError rounded(double v) { return {v, std::abs(v)}; }

/// Square root of a value that is at least 0. Near 0 the root of the error bounds the error of the root.
inline RunningError sqrt(RunningError a) {
  const double v = std::sqrt(std::max(a.value, 0.0));
  const double relative = v > 0 ? a.error / v : std::sqrt(a.error * 0x1p24);
  return {v, std::min(relative, std::sqrt(a.error * 0x1p24)) + v};
}

/// exp and log of two units in the last place.
inline RunningError exp(RunningError a) {
  const double v = std::exp(a.value);
  return {v, v * (a.error + 4)};
}
inline RunningError log(RunningError a) {
  const double v = std::log(a.value);
  return {v, a.error / std::abs(a.value) + 4 * std::abs(v)};
}

}  // namespace klab
