// The statistics of a timing: medians and how far to trust them.
//
// A time on a shared machine has a long right tail and drifts. So: medians, never means and never the best;
// ratios are taken within a round, where both sides met the same drift, and only then summarized.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace klab {

/// A median and an interval that covers the true one with probability `confidence`.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  int n = 0;              // samples behind it
  double confidence = 0;  // below the one asked for where too few samples can carry it: 0 for one sample
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

struct Bootstrap {
  int resamples = 2000;
  double confidence = 0.95;
  uint64_t seed = 1;  // same samples, same seed: same interval
};

/// The middle value, or the mean of the two in the middle. Throws std::invalid_argument when empty or not
/// finite.
double median(std::span<const double> samples);

/// The median of the means of all pairs, each sample with itself among them (Hodges & Lehmann 1963): bears one
/// wild sample in five as the median does, and does not jump between two modes.
double pseudo_median(std::span<const double> samples);

/// Quantile q in [0, 1] with linear interpolation between order statistics (Hyndman & Fan 1996, type 7).
double quantile(std::span<const double> samples, double q);

/// Throws std::invalid_argument naming the first sample that is NaN, infinite, zero or negative: no time is.
void require_times(std::span<const double> seconds);

/// Median of the samples with a bootstrap interval: percentiles of the resampled medians, moved outward for
/// small n as in Hesterberg, "What Teachers Should Know About the Bootstrap" (2015), section 5.2. Below six
/// samples the interval is their range, whose coverage of the median is 1 - 2^(1-n); `confidence` says so.
Estimate median_interval(std::span<const double> samples, const Bootstrap& options = {});

/// Median over rounds of numerator[i] / denominator[i]. Both are times of the same rounds, so equal in
/// length.
Estimate ratio_interval(std::span<const double> numerator, std::span<const double> denominator,
                        const Bootstrap& options = {});

/// The ratios themselves, one a round.
std::vector<double> ratios(std::span<const double> numerator, std::span<const double> denominator);

}  // namespace klab
