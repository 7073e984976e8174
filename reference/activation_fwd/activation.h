// The functions of activation_fwd and activation_bwd, and the error bounds of their implementations.
#pragma once

#include <cmath>
#include <cstdint>

namespace klab::activation {

/// In the order of their numbers, which are a dimension of the ops' shapes.
enum Kind : int64_t { relu, sigmoid, tanh, gelu, swish, softplus, kKinds };
inline constexpr const char* kNames[] = {"relu", "sigmoid", "tanh", "gelu", "swish", "softplus"};

/// A value, and the size that its error is proportional to.
struct Sized {
  double value, size;
};

/// Below 2^-126 an exponential may stop where it is, at up to 1.5·2^-126: with 16 roundings of 2^-24 this is room for it.
inline constexpr double kFloor = 0x1p-104;

/// 1/(1 + e^-x).
inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// The function itself. Sums in which nothing cancels err by a few roundings of themselves: sigmoid, tanh by way of
/// e^2|x| - 1, softplus as max(x,0) + log1p(e^-|x|). GELU is x·(1 + erf(x/sqrt 2))/2 (Hendrycks and Gimpel 2016; no
/// approximation by tanh), whose two summands cancel for x < 0: its error is proportional to x.
inline Sized value(int64_t kind, double x) {
  switch (kind) {
    case relu:
      return {x > 0 ? x : 0, 0};  // exact
    case sigmoid:
      return {logistic(x), logistic(x) + kFloor};
    case tanh:
      return {std::tanh(x), std::abs(std::tanh(x)) + kFloor};
    case gelu:
      return {x / 2 * std::erfc(-x * std::sqrt(0.5)), std::abs(x)};
    case swish:
      return {x * logistic(x), std::abs(x) * (logistic(x) + kFloor)};
    default: {
      const double y = (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x)));
      return {y, y + kFloor};
    }
  }
}

/// The derivative. relu has none at 0, where it is taken as 0. Errors are proportional to the summands: s and s^2 of
/// s - s^2 for the logistic function s, 1 and t^2 for tanh, (1 + erf)/2 and x·density for GELU, whose density
/// e^(-x^2/2)/sqrt(2 pi) has an argument that errs by u·x^2; s and x·s·(1 - s) for swish.
inline Sized slope(int64_t kind, double x) {
  switch (kind) {
    case relu:
      return {x > 0 ? 1.0 : 0.0, 0};
    case sigmoid:
      return {logistic(x) * logistic(-x), logistic(x) + kFloor};
    case tanh: {
      const double t = std::tanh(x), c = std::cosh(x);
      return {1 / (c * c), 1 + t * t};
    }
    case gelu: {
      const double density = std::exp(-x * x / 2) * 0.39894228040143267794;
      const double size = std::abs(x) * density;
      return {std::erfc(-x * std::sqrt(0.5)) / 2 + x * density, 1 + (size > 0 ? size * (1 + x * x) : 0)};
    }
    case swish: {
      const double s = logistic(x), rest = logistic(-x);
      return {s + x * s * rest, (s + kFloor) * (1 + std::abs(x))};
    }
    default:
      return {logistic(x), logistic(x) + kFloor};
  }
}

/// Operations of a value; exponentials as the polynomials behind them.
inline double flops(int64_t kind) {
  constexpr double of[] = {1, 11, 12, 24, 12, 22};
  return of[kind];
}
/// Exponentials and logarithms of a value; the error function counts as one, by its work.
inline double transcendentals(int64_t kind) {
  constexpr double of[] = {0, 1, 1, 1, 1, 2};
  return of[kind];
}
inline double divisions(int64_t kind) { return kind == sigmoid || kind == tanh || kind == swish ? 1 : 0; }

}  // namespace klab::activation
