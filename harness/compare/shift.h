// Estimates how far one set of measurements lies above another, without assumptions about their distribution.
//
// Run times have long tails and several modes, so intervals based on means and deviations are too optimistic.
// Ranks are not: if the measurements of both sets could have come in any order, the probabilities here are
// exact for any tails (Mann & Whitney 1947; the shift and its interval follow Hodges & Lehmann 1963).
#pragma once

#include <span>
#include <vector>

namespace klab {

/// Returns P(U <= u), where U counts the pairs in which a member of one set lies below a member of the other,
/// for sets of m and n from the same distribution. Exact up to m·n = 10000, by the normal approximation
/// beyond.
double rank_tail(int m, int n, double u);

/// Returns the p-value of "fresh does not lie more than `margin` above base": small if it clearly does. Ties
/// count against. Throws std::invalid_argument if a set is empty or not finite.
double p_above(std::span<const double> base, std::span<const double> fresh, double margin);

/// The shift of `fresh` against `base`: the median of all differences between a member of each, and the
/// interval that misses the true shift with probability `alpha`. With too few measurements for that
/// probability, low and high are infinite.
struct Shift {
  double value = 0;
  double low = 0;
  double high = 0;
};
Shift shift_of(std::span<const double> base, std::span<const double> fresh, double alpha);

}  // namespace klab
