#include "harness/compare/shift.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace klab {
namespace {

constexpr int kExactPairs = 10000;

void require_set(std::span<const double> set, const char* name) {
  if (set.empty()) throw std::invalid_argument(std::string("shift: ") + name + " is empty");
  for (const double x : set)
    if (!std::isfinite(x)) throw std::invalid_argument(std::string("shift: not finite: ") + name);
}

/// Computes P(U <= u) for u = 0..m·n. The number of arrangements with U = u is the coefficient of q^u in the
/// Gaussian binomial of m + n over m, which is the product of (1 - q^(n+i)) / (1 - q^i) for i = 1..m.
/// Coefficients of low order depend only on those of low order, so the relevant tail has no cancellation.
std::vector<double> exact_tail(int m, int n) {
  const int last = m * n;
  std::vector<double> count(size_t(last) + 1, 0.0);
  count[0] = 1;
  for (int i = 1; i <= m; ++i) {
    for (int u = last; u >= n + i; --u) count[size_t(u)] -= count[size_t(u - n - i)];
    for (int u = i; u <= last; ++u) count[size_t(u)] += count[size_t(u - i)];
  }
  // The distribution is symmetric. Copy the lower half, which is exact, to the upper.
  for (int u = 0; u <= last / 2; ++u) count[size_t(last - u)] = count[size_t(u)];
  double all = 0;
  for (const double c : count) all += c;
  double sum = 0;
  for (double& c : count) c = (sum += c) / all;
  return count;
}

const std::vector<double>& tail_of(int m, int n) {
  thread_local std::map<std::pair<int, int>, std::vector<double>> known;
  const auto key = std::minmax(m, n);
  const auto at = known.find(key);
  if (at != known.end()) return at->second;
  return known.emplace(key, exact_tail(key.first, key.second)).first->second;
}

}  // namespace

double rank_tail(int m, int n, double u) {
  const double pairs = double(m) * double(n);
  if (u < 0) return 0;
  if (u >= pairs) return 1;
  if (pairs <= kExactPairs) return tail_of(m, n)[size_t(u)];
  const double deviation = std::sqrt(pairs * (m + n + 1) / 12.0);
  return std::erfc((pairs / 2 - u - 0.5) / deviation / std::sqrt(2.0)) / 2;
}

double p_above(std::span<const double> base, std::span<const double> fresh, double margin) {
  require_set(base, "base");
  require_set(fresh, "fresh");
  double against = 0;
  for (const double f : fresh)
    for (const double b : base) against += f - margin <= b ? 1 : 0;
  return rank_tail(int(base.size()), int(fresh.size()), against);
}

Shift shift_of(std::span<const double> base, std::span<const double> fresh, double alpha) {
  require_set(base, "base");
  require_set(fresh, "fresh");
  if (!(alpha > 0 && alpha < 1)) throw std::invalid_argument("shift: alpha must lie in (0, 1)");
  std::vector<double> differences;
  differences.reserve(base.size() * fresh.size());
  for (const double f : fresh)
    for (const double b : base) differences.push_back(f - b);
  std::sort(differences.begin(), differences.end());
  const size_t pairs = differences.size();
  Shift s;
  s.value = (differences[(pairs - 1) / 2] + differences[pairs / 2]) / 2;
  // The interval leaves out the largest number of differences at each end whose probability is still small
  // enough.
  const int m = int(base.size()), n = int(fresh.size());
  if (!(rank_tail(m, n, 0) <= alpha / 2)) {
    s.low = -std::numeric_limits<double>::infinity();
    s.high = std::numeric_limits<double>::infinity();
    return s;
  }
  size_t left_out = 0, too_many = pairs / 2;
  while (too_many - left_out > 1) {
    const size_t middle = (left_out + too_many) / 2;
    (rank_tail(m, n, double(middle)) <= alpha / 2 ? left_out : too_many) = middle;
  }
  s.low = differences[left_out];
  s.high = differences[pairs - 1 - left_out];
  return s;
}

}  // namespace klab
