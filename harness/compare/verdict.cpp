#include "harness/compare/verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "harness/timing/statistics.h"

namespace klab {
namespace {

/// Holm's step-down procedure: decides which p-values are significant together at `rate`. `level` is the
/// threshold that each p-value was compared to.
struct Holm {
  std::vector<bool> significant;
  std::vector<double> level;
};
Holm holm(const std::vector<double>& p, double rate) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  Holm h{std::vector<bool>(p.size(), false), std::vector<double>(p.size())};
  bool open = true;
  double reached = rate / double(p.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (open) reached = rate / double(p.size() - i);
    h.level[order[i]] = reached;
    open = open && p[order[i]] <= reached;
    h.significant[order[i]] = open;
  }
  return h;
}

std::vector<double> negated(std::span<const double> values) {
  std::vector<double> result(values.begin(), values.end());
  for (double& v : result) v = -v;
  return result;
}

/// Returns what the margin comes from where it is not the threshold.
std::string source_of_margin(const LogRatios& c) {
  const double base = noise_floor(c.base), fresh = noise_floor(c.fresh);
  if (c.floor >= std::max(base, fresh)) return "with one process a run, as far as processes differ";
  return base >= fresh ? "the base against itself" : "the new run against itself";
}

/// Returns why noise leaves it open whether a change lies within the margin; empty where it does not.
std::string why_not_same(const LogRatios& c, const Judgement& j, const VerdictOptions& options) {
  const auto percent = [](double log_ratio) { return 100 * std::expm1(log_ratio); };
  const double threshold = std::log1p(options.threshold),
               widest = std::log1p(options.widest * options.threshold);
  const double seen = shift_of(c.base, c.fresh, 0.5).value;
  if (j.margin > widest)
    return fmt::format(
        "the noise floor is {:.1f} % ({}), above {:.3g} thresholds of {:.3g} %: no smaller change can be "
        "decided",
        percent(j.margin), source_of_margin(c), options.widest, 100 * options.threshold);
  if (std::abs(seen) > threshold && std::abs(seen) <= j.margin)
    return fmt::format("{:+.1f} % was measured, and the noise floor is {:.1f} % ({})", percent(seen),
                       percent(j.margin), source_of_margin(c));
  for (const double q : {0.75, 0.25})
    if (const double moved = quantile(c.fresh, q) - quantile(c.base, q); std::abs(moved) > widest)
      return fmt::format(
          "the {} quarter of the new run lies {:+.1f} % from that of the base: the runs scatter unlike",
          q > 0.5 ? "slowest" : "fastest", percent(moved));
  return "";
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "SAME";
    case Verdict::faster:
      return "FASTER";
    case Verdict::slower:
      return "SLOWER";
    case Verdict::undecided:
      break;
  }
  return "UNDECIDED";
}

double noise_floor(std::span<const double> sessions) {
  const size_t half = sessions.size() / 2;
  if (half < 2) return 0;
  return std::abs(shift_of(sessions.first(half), sessions.last(half), 0.5).value);
}

std::vector<Judgement> judge(std::span<const LogRatios> comparisons, const VerdictOptions& options) {
  if (comparisons.empty())
    throw std::invalid_argument("judge: nothing to compare; an empty comparison is no pass");
  if (!(options.threshold >= 0) || options.looks < 1)
    throw std::invalid_argument("judge: the threshold must not be negative and looks be at least 1");
  const size_t count = comparisons.size();
  std::vector<Judgement> judgements(count);
  std::vector<double> p_change(count), p_same(count);
  for (size_t i = 0; i < count; ++i) {
    const LogRatios& c = comparisons[i];
    Judgement& j = judgements[i];
    j.margin = std::max({std::log1p(options.threshold), c.floor, noise_floor(c.base), noise_floor(c.fresh)});
    const auto base = negated(c.base), fresh = negated(c.fresh);
    j.p_slower = p_above(c.base, c.fresh, j.margin);
    j.p_faster = p_above(base, fresh, j.margin);
    // Two one-sided tests: not above the margin, and not below minus the margin.
    j.p_same = std::max(p_above(base, fresh, -j.margin), p_above(c.base, c.fresh, -j.margin));
    p_change[i] = std::min(1.0, 2 * std::min(j.p_slower, j.p_faster));
    p_same[i] = j.p_same;
  }
  const Holm change = holm(p_change, options.alarm_rate / options.looks);
  const Holm same = holm(p_same, options.same_rate / options.looks);
  for (size_t i = 0; i < count; ++i) {
    Judgement& j = judgements[i];
    if (change.significant[i])
      j.verdict = j.p_slower < j.p_faster ? Verdict::slower : Verdict::faster;
    else if (j.noise = why_not_same(comparisons[i], j, options); j.noise.empty() && same.significant[i])
      j.verdict = Verdict::same;
    const double level = j.verdict == Verdict::same ? 2 * same.level[i] : change.level[i];
    j.change = shift_of(comparisons[i].base, comparisons[i].fresh, std::min(level, 0.99));
  }
  return judgements;
}

int sessions_needed(int base_sessions, int comparisons, const VerdictOptions& options) {
  const double level = options.alarm_rate / options.looks / std::max(1, comparisons) / 2;
  for (int n = 1; n <= 1000; ++n)
    if (rank_tail(base_sessions, n, 0) <= level) return n;
  return 1001;
}

}  // namespace klab
