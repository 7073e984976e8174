#include "harness/timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>

namespace klab {
namespace {

void require_finite(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics: no samples; at least one is needed");
  for (size_t i = 0; i < samples.size(); ++i)
    if (!std::isfinite(samples[i]))
      throw std::invalid_argument("statistics: sample " + std::to_string(i) + " is not a finite number");
}

/// The median, reordering what it is given.
double median_of(std::vector<double>& v) {
  const size_t middle = v.size() / 2;
  std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(middle), v.end());
  if (v.size() % 2 == 1) return v[middle];
  return (v[middle] + *std::max_element(v.begin(), v.begin() + std::ptrdiff_t(middle))) / 2;
}

/// p in (0, 1) -> x with normal distribution function Phi(x) = p.
double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Quantile of Student's t for 5 or more degrees of freedom: Cornish-Fisher expansion about the normal
/// quantile, Abramowitz & Stegun 26.7.5.
double t_quantile(double p, double degrees) {
  const double x = normal_quantile(p);
  const double x3 = x * x * x, x5 = x3 * x * x, x7 = x5 * x * x;
  return x + (x3 + x) / (4 * degrees) + (5 * x5 + 16 * x3 + 3 * x) / (96 * degrees * degrees) +
         (3 * x7 + 19 * x5 + 17 * x3 - 15 * x) / (384 * degrees * degrees * degrees);
}

}  // namespace

double median(std::span<const double> samples) {
  require_finite(samples);
  std::vector<double> copy(samples.begin(), samples.end());
  return median_of(copy);
}

double pseudo_median(std::span<const double> samples) {
  require_finite(samples);
  std::vector<double> means;
  means.reserve(samples.size() * (samples.size() + 1) / 2);
  for (size_t i = 0; i < samples.size(); ++i)
    for (size_t j = i; j < samples.size(); ++j) means.push_back((samples[i] + samples[j]) / 2);
  return median_of(means);
}

double quantile(std::span<const double> samples, double q) {
  require_finite(samples);
  if (!(q >= 0 && q <= 1)) throw std::invalid_argument("quantile: q must lie in [0, 1]");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double at = q * double(sorted.size() - 1);
  const size_t below = size_t(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

void require_times(std::span<const double> seconds) {
  require_finite(seconds);
  for (size_t i = 0; i < seconds.size(); ++i)
    if (!(seconds[i] > 0))
      throw std::invalid_argument("statistics: time " + std::to_string(i) + " is " +
                                  std::to_string(seconds[i]) + "; a time is greater than zero");
}

Estimate median_interval(std::span<const double> samples, const Bootstrap& options) {
  require_finite(samples);
  if (!(options.confidence > 0 && options.confidence < 1) || options.resamples < 1)
    throw std::invalid_argument("median_interval: confidence must lie in (0, 1) and resamples be at least 1");
  const int n = int(samples.size());
  Estimate result{median(samples), 0, 0, n, options.confidence};
  const auto [smallest, largest] = std::minmax_element(samples.begin(), samples.end());
  // No interval of a median can be wider than the range, and the range misses it only when all samples fall
  // on one side: probability 2 * 2^-n.
  const double range_covers = 1 - std::ldexp(1.0, 1 - n);
  if (range_covers <= options.confidence) {
    result.low = *smallest;
    result.high = *largest;
    result.confidence = range_covers;
    return result;
  }
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<size_t> pick(0, samples.size() - 1);
  std::vector<double> resample(samples.size()), medians(size_t(options.resamples));
  for (double& m : medians) {
    for (double& x : resample) x = samples[pick(random)];
    m = median_of(resample);
  }
  // Resampling n points spreads too little by sqrt((n-1)/n), and takes the normal's tails for Student's.
  const double tail = (1 - options.confidence) / 2;
  const double z = std::sqrt(double(n) / (n - 1)) * t_quantile(tail, n - 1);
  const double wider = std::erfc(-z / std::sqrt(2.0)) / 2;
  result.low = quantile(medians, wider);
  result.high = quantile(medians, 1 - wider);
  return result;
}

std::vector<double> ratios(std::span<const double> numerator, std::span<const double> denominator) {
  if (numerator.size() != denominator.size())
    throw std::invalid_argument("ratios: " + std::to_string(numerator.size()) + " rounds against " +
                                std::to_string(denominator.size()) + "; both must come from the same rounds");
  require_times(numerator);
  require_times(denominator);
  std::vector<double> result(numerator.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = numerator[i] / denominator[i];
  return result;
}

Estimate ratio_interval(std::span<const double> numerator, std::span<const double> denominator,
                        const Bootstrap& options) {
  return median_interval(ratios(numerator, denominator), options);
}

}  // namespace klab
