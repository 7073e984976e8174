#include "harness/compare/quality.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "harness/timing/statistics.h"

namespace klab {
namespace {

/// Replaces the logarithm of a length that was never reached: later than any that was, and finite, as ranks require.
constexpr double kNever = 1e3;

std::vector<double> psnr_of(std::span<const QualityRun> runs) {
  std::vector<double> values;
  for (const QualityRun& run : runs) values.push_back(run.psnr);
  return values;
}

/// Returns minus the logarithms of the lengths, so that larger is better, as with dB.
std::vector<double> reach_of(std::span<const QualityRun> runs) {
  std::vector<double> values;
  for (const QualityRun& run : runs)
    values.push_back(std::isinf(run.reached) ? -kNever : -std::log(run.reached));
  return values;
}

/// Judges one metric, of which larger is better, among `metrics`.
QualityJudgement judge_metric(const std::vector<double>& base, const std::vector<double>& fresh,
                              double margin, int metrics, const QualityOptions& o) {
  QualityJudgement j{.change = {}, .margin = margin, .base = median(base), .fresh = median(fresh)};
  const int shares = metrics * o.looks;
  const double alarm = o.alarm_rate / shares, same = o.same_rate / shares;
  const double better = p_above(base, fresh, margin), worse = p_above(fresh, base, margin);
  // Two one-sided tests: not above the margin, and not below minus the margin.
  const double within = std::max(p_above(fresh, base, -margin), p_above(base, fresh, -margin));
  if (2 * std::min(better, worse) <= alarm)
    j.verdict = worse < better ? QualityVerdict::worse : QualityVerdict::better;
  else if (within <= same)
    j.verdict = QualityVerdict::same;
  j.change = shift_of(base, fresh, std::min(0.99, j.verdict == QualityVerdict::same ? 2 * same : alarm));
  return j;
}

void require_pool(std::span<const QualityRun> runs, const char* name) {
  if (runs.size() < kFewestRuns)
    throw std::invalid_argument(
        fmt::format("{} has {} trainings and needs at least {}", name, runs.size(), kFewestRuns));
  for (const QualityRun& run : runs)
    if (!std::isfinite(run.psnr) || run.reached <= 0)
      throw std::invalid_argument(
          fmt::format("{}: the training with seed {} has no finite PSNR or length", name, run.seed));
}

bool has_reach(std::span<const QualityRun> runs) {
  return std::ranges::none_of(runs, [](const QualityRun& run) { return std::isnan(run.reached); });
}

}  // namespace

const char* name_of(QualityVerdict verdict) {
  switch (verdict) {
    case QualityVerdict::same:
      return "SAME";
    case QualityVerdict::better:
      return "BETTER";
    case QualityVerdict::worse:
      return "WORSE";
    case QualityVerdict::undecided:
      break;
  }
  return "UNDECIDED";
}

bool QualityResult::worse() const {
  return psnr.verdict == QualityVerdict::worse || (reach && reach->verdict == QualityVerdict::worse);
}

bool QualityResult::decided() const {
  return psnr.verdict != QualityVerdict::undecided && (!reach || reach->verdict != QualityVerdict::undecided);
}

QualityResult judge_quality(std::span<const QualityRun> base, std::span<const QualityRun> fresh,
                            const QualityOptions& options) {
  require_pool(base, "the base");
  require_pool(fresh, "the new pool");
  if (!(options.margin >= 0) || !(options.time_margin >= 0) || options.looks < 1)
    throw std::invalid_argument("quality: margins must not be negative, and looks be at least 1");
  const bool both = has_reach(base) && has_reach(fresh);
  QualityResult result;
  result.psnr = judge_metric(psnr_of(base), psnr_of(fresh), options.margin, both ? 2 : 1, options);
  if (both)
    result.reach = judge_metric(reach_of(base), reach_of(fresh), std::log1p(options.time_margin), 2, options);
  return result;
}

std::vector<int> quality_looks(int runs) {
  std::vector<int> at;
  for (const int share : {runs / 2, runs * 3 / 4, runs})
    if (const int look = std::max(int(kFewestRuns), share); at.empty() || at.back() != look)
      at.push_back(look);
  return at;
}

QualityResult judge_growing(std::span<const QualityRun> base, std::span<const QualityRun> fresh,
                            QualityOptions options, int* used) {
  const std::vector<int> looks = quality_looks(int(fresh.size()));
  options.looks = int(looks.size());
  QualityResult result;
  for (const int runs : looks) {
    if (used != nullptr) *used = runs;
    const QualityResult now = judge_quality(base, fresh.first(size_t(runs)), options);
    // A metric keeps its first verdict.
    if (result.psnr.verdict == QualityVerdict::undecided) result.psnr = now.psnr;
    if (!result.reach || result.reach->verdict == QualityVerdict::undecided) result.reach = now.reach;
    if (result.decided()) break;
  }
  return result;
}

namespace {

void count(QualityTrials& sum, const QualityResult& result) {
  ++sum.trials;
  const auto any = [&](QualityVerdict v) {
    return result.psnr.verdict == v || (result.reach && result.reach->verdict == v);
  };
  if (any(QualityVerdict::worse))
    ++sum.worse;
  else if (any(QualityVerdict::better))
    ++sum.better;
  else if (any(QualityVerdict::undecided))
    ++sum.undecided;
  else
    ++sum.same;
}

}  // namespace

QualityTrials quality_trials(std::span<const QualityRun> base, std::span<const QualityRun> fresh, int runs,
                             int trials, const QualityOptions& options, uint64_t seed) {
  const bool null = fresh.empty();
  const auto require = [&](size_t has, size_t needs, const char* name) {
    if (has < needs)
      throw std::invalid_argument(
          fmt::format("{} has {} trainings, and trials of {} a side need {}", name, has, runs, needs));
  };
  require(base.size(), size_t(null ? 2 * runs : runs), "the base");
  if (!null) require(fresh.size(), size_t(runs), "the new pool");
  std::mt19937_64 random(seed);
  std::vector<QualityRun> from(base.begin(), base.end()), other(fresh.begin(), fresh.end());
  QualityTrials sum;
  for (int trial = 0; trial < trials; ++trial) {
    std::ranges::shuffle(from, random);
    std::ranges::shuffle(other, random);
    const std::span<const QualityRun> drawn(from);
    count(sum, judge_growing(drawn.first(size_t(runs)),
                             null ? drawn.subspan(size_t(runs), size_t(runs))
                                  : std::span<const QualityRun>(other).first(size_t(runs)),
                             options));
  }
  return sum;
}

QualityPower quality_power(std::span<const QualityRun> pool, int runs, double loss,
                           const QualityOptions& options, int trials, uint64_t seed) {
  require_pool(pool, "the pool");
  const std::vector<double> values = psnr_of(pool);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  // Smoothing would widen the scatter, and a small pool understates it: both are corrected (Silverman 1986, section 6.4).
  const double deviation = std::sqrt(squares / double(values.size() - 1));
  const double width = deviation * std::pow(double(values.size()), -0.2);
  const double shrink = deviation > 0 ? deviation / std::sqrt(deviation * deviation + width * width) : 1;
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<size_t> any(0, values.size() - 1);
  std::normal_distribution<double> normal;
  const auto draw = [&](double shift) {
    std::vector<QualityRun> drawn(static_cast<size_t>(runs));
    for (QualityRun& run : drawn)
      run.psnr = mean + shift + shrink * (values[any(random)] - mean + width * normal(random));
    return drawn;
  };
  QualityTrials with, without;
  for (int trial = 0; trial < trials; ++trial) {
    const auto base = draw(0);
    count(with, judge_growing(base, draw(-loss), options));
    count(without, judge_growing(base, draw(0), options));
  }
  return {.runs = runs,
          .found = double(with.worse) / trials,
          .alarms = double(without.worse + without.better) / trials};
}

std::optional<QualityPower> runs_needed(std::span<const QualityRun> pool, double loss,
                                        const QualityOptions& options, uint64_t seed) {
  constexpr int kTrials = 400;
  for (const int runs : kRunsTried)
    if (const QualityPower power = quality_power(pool, runs, loss, options, kTrials, seed);
        power.found >= kFoundShare)
      return power;
  return std::nullopt;
}

}  // namespace klab
