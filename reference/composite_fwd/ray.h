// Traces one ray of the volume-rendering sum in double, and bounds the error of a float evaluation.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace klab {

/// Transmittances and weights of n samples.
struct TracedRay {
  std::vector<double> tau;     // [n]
  std::vector<double> T;       // [n+1] transmittance in front of each sample, then behind the last
  std::vector<double> weight;  // [n]
};

/// Evaluates the formulas directly, with 1 - exp(-tau) by expm1. raw [n] are logarithms of density, delta [n]
/// step lengths.
inline TracedRay trace(const double* raw, const double* delta, int64_t n) {
  TracedRay ray{std::vector<double>(size_t(n)), std::vector<double>(size_t(n) + 1),
                std::vector<double>(size_t(n))};
  double depth = 0;
  ray.T[0] = 1;
  for (size_t i = 0; i < size_t(n); ++i) {
    ray.tau[i] = std::exp(raw[i]) * delta[i];
    ray.weight[i] = ray.T[i] * -std::expm1(-ray.tau[i]);
    depth += ray.tau[i];
    ray.T[i + 1] = std::exp(-depth);
  }
  return ray;
}

/// Error bounds of a float evaluation, in units of 12·u. u is the unit roundoff, an exponential is allowed 2
/// ulp = 4u, S_i = sum_{j<i} tau_j and n the number of samples.
///
///   tau_i   relative 4u (exp) + u (product) = 5u.
///   T_i     as a product of exp(-tau_j): 5u·S_i + 5u·i. As exp(-S_i): 5u·S_i + u·i·S_i + 4u.
///           Both are relative and below 5u·(i+1)·(1+S_i).
///   w_i     as T_i·alpha_i: the relative error of T_i, and T_i times 5u·tau·exp(-tau) + 4u + u <= 7u.
///           As T_i - T_{i+1}: the relative error of T_i, and what T_{i+1} does not share with it. In a
///           tree-shaped prefix sum over up to 16 lanes two neighbors differ in at most 2·(4+1) additions,
///           10u·S_{i+1}, in tau_i, 5u·tau_i, and in two exponentials: together
///           T_{i+1}·(10u·S_{i+1} + 5u·tau_i + 8u).
///   ends    an exponential below 2^-125 may be anything from 0 to 2^-125: T_i is off by as much, w_i by twice that.
///   sums    w_i·c_i adds u for the product and n·u for the sum.
///
/// So 12u·[ (n+1)·(1+S_i)·w_i + (1+S_i)·T_i + (1+S_{i+1})·T_{i+1} ] holds for either, product and sum
/// included.
struct RayBound {
  std::vector<double> weight;  // [n]
  std::vector<double> T;       // [n+1]
  int64_t stopped = 0;         // first sample that a variant may leave out (n: none)
  double behind = 0;           // transmittance in front of it, and the error of a variant that goes by it
};

/// `stop` is the transmittance below which a ray may be stopped; the comparison itself is done in float, on a
/// T with an error, hence the factor.
inline RayBound bound(const TracedRay& ray, double stop) {
  const size_t n = ray.tau.size();
  RayBound b{std::vector<double>(n), std::vector<double>(n + 1), int64_t(n), 0};
  const auto depth = [](double T) { return T > 0 ? -std::log(T) : 0; };  // T·(1+S) is 0 where T is
  const double flushed = 0x1p-125 / (12 * 0x1p-24);
  for (size_t i = 0; i <= n; ++i) b.T[i] = double(n + 1) * (1 + depth(ray.T[i])) * ray.T[i] + flushed;
  for (size_t i = 0; i < n; ++i)
    b.weight[i] = double(n + 1) * (1 + depth(ray.T[i])) * ray.weight[i] + (1 + depth(ray.T[i])) * ray.T[i] +
                  (1 + depth(ray.T[i + 1])) * ray.T[i + 1] + 2 * flushed;
  for (size_t i = n + 1; i-- > 0 && ray.T[i] < stop * 1.001;)
    b.stopped = int64_t(i), b.behind = ray.T[i] + 12 * 0x1p-24 * b.T[i];
  return b;
}

}  // namespace klab
