// Mean and variance of a set of numbers in double precision, and the error bounds of an implementation in
// float. Shared by the contracts of lab 07.
#pragma once

#include <cmath>
#include <cstdint>

namespace klab::normalization {

/// Computes the moments of the numbers at(0) ... at(n-1), n >= 1. The variance is the mean of the squared
/// deviations (over n, not n - 1), from a second pass.
struct Moments {
  double mean = 0, variance = 0;
  double size = 0;  // mean of |x|, to which errors of the mean are proportional

  template <class At>
  Moments(int64_t n, const At& at) {
    for (int64_t i = 0; i < n; ++i) {
      mean += at(i);
      size += std::abs(at(i));
    }
    mean /= double(n);
    size /= double(n);
    for (int64_t i = 0; i < n; ++i) variance += (at(i) - mean) * (at(i) - mean);
    variance /= double(n);
  }

  double rstd(double epsilon) const { return 1 / std::sqrt(variance + epsilon); }

  /// Returns the size that the error of the variance is proportional to, in units of T·u for T roundings of
  /// size u = 2^-24, to first order. A mean that errs by d = T·u·size shifts all deviations: the mean of (x -
  /// mean')^2 is v + d^2 exactly. The sum itself errs by T·u·v. An update of mean and squares together
  /// (Welford 1962; Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983) errs by up
  /// to T·u·sigma·Q besides, Q the root mean square of x. The difference of two large numbers is not allowed:
  /// E[x^2] - E[x]^2 errs by T·u·Q^2.
  double variance_size(double terms) const {
    const double q2 = variance + mean * mean;
    return variance + std::sqrt(variance * q2) + terms * 0x1p-24 * q2;
  }

  /// The same for 1/sqrt(variance + epsilon), relative to it and in the same units. The variance's error
  /// comes through at most in proportion to the variance's share of the sum, and root, division and sum are a
  /// few roundings.
  double rstd_size(double terms, double epsilon) const {
    return 1 + variance_size(terms) / (variance + epsilon);
  }

  /// The same for gamma·(x - mean)·rstd + beta, in the same units: the mean's error is `size`, the
  /// deviation's own and the products' are proportional to it, and the reciprocal root errs by rstd_size().
  /// Factors below 2^-126 lose up to half the smallest denormal, whichever two of the three are multiplied
  /// first, and the third scales that.
  double output_size(double x, double gamma, double beta, double terms, double epsilon) const {
    const double r = rstd(epsilon), deviation = std::abs(x - mean);
    const double lost = 0x1p-126 * (r + deviation + size + std::abs(gamma) * r);
    return std::abs(gamma) * r * (size + deviation * rstd_size(terms, epsilon)) + std::abs(beta) + lost;
  }
};

}  // namespace klab::normalization
