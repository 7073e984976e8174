// Decides whether trainings became worse: a test of dB, where verdict.h tests times.
//
// The unit is a training with a seed and a process of its own, since seeds differ more than views of one training. Two pools
// of trainings are compared by ranks (shift.h), with margins in dB. WORSE and BETTER require that the shift lies beyond the
// margin, SAME that it lies within. The error rates hold for all metrics together (an equal share for each) and for all
// evaluations of a growing pool together, as those of verdict.h do.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/compare/shift.h"

namespace klab {

/// The result of one training.
struct QualityRun {
  uint64_t seed = 0;
  double psnr = 0;  // dB on the test views after the stated length
  /// Length after which the validation reached the stated dB: seconds or steps. Infinite: it never did. NaN: no dB was stated.
  double reached = std::numeric_limits<double>::quiet_NaN();
  std::string validated = {};  // on which pictures: lengths of different ones are not comparable
};

struct QualityOptions {
  double margin = 0.05;      // dB: smaller changes do not matter
  double time_margin = 0.1;  // of the length to the stated dB, as a fraction
  double alarm_rate = 0.01;  // of a false WORSE or BETTER in any metric, at any look
  double same_rate = 0.05;   // of a false SAME
  int looks = 1;             // number of times that a growing pool is judged at most
};

enum class QualityVerdict { same, better, worse, undecided };
const char* name_of(QualityVerdict verdict);  // "SAME", ...

struct QualityJudgement {
  QualityVerdict verdict = QualityVerdict::undecided;
  Shift
      change;  // of the new pool against the base, at the level of the verdict: dB, or log of a ratio of lengths
  double margin = 0;           // in the same unit
  double base = 0, fresh = 0;  // medians
};

/// The verdicts on a pair of pools. Without a stated dB there is no `reach`.
struct QualityResult {
  QualityJudgement psnr;
  std::optional<QualityJudgement> reach;
  bool worse() const;
  bool decided() const;  // no metric is undecided
};

/// Fewest trainings of either pool.
inline constexpr size_t kFewestRuns = 4;

/// Judges the pools. Throws std::invalid_argument if one has fewer than kFewestRuns trainings, or if a number is not finite.
QualityResult judge_quality(std::span<const QualityRun> base, std::span<const QualityRun> fresh,
                            const QualityOptions& options);

/// Returns the numbers of new trainings at which a gate with at most `runs` of them judges: half, three quarters, all.
std::vector<int> quality_looks(int runs);

/// Judges a pool that grows, at each of quality_looks(), and stops where all is decided. `used` is the number of trainings
/// of the last look.
QualityResult judge_growing(std::span<const QualityRun> base, std::span<const QualityRun> fresh,
                            QualityOptions options, int* used = nullptr);

/// How often verdicts came out, in trials whose answer is known.
struct QualityTrials {
  int trials = 0, worse = 0, better = 0, same = 0, undecided = 0;
};

/// Draws trials from recorded pools without replacement: `runs` trainings of the base against as many of `fresh`, or, if that
/// is empty, against as many others of the base. Throws std::invalid_argument if a pool is too small.
QualityTrials quality_trials(std::span<const QualityRun> base, std::span<const QualityRun> fresh, int runs,
                             int trials, const QualityOptions& options, uint64_t seed);

/// The predicted answer of a gate with that many trainings a side.
struct QualityPower {
  int runs = 0;
  double found = 0;   // share of trials in which the loss is WORSE
  double alarms = 0;  // share of trials without a loss that are WORSE or BETTER
};

/// Predicts how often a loss of `loss` dB is found, from the scatter of a recorded pool. Trainings are drawn with replacement
/// and smoothed, so that a pool need not be larger than a gate.
QualityPower quality_power(std::span<const QualityRun> pool, int runs, double loss,
                           const QualityOptions& options, int trials, uint64_t seed);

/// Returns the first of a list of numbers of trainings with which the loss is found in nine of ten trials, with its prediction;
/// nothing if even the last is too few.
std::optional<QualityPower> runs_needed(std::span<const QualityRun> pool, double loss,
                                        const QualityOptions& options, uint64_t seed);
inline constexpr int kRunsTried[] = {4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128};
inline constexpr double kFoundShare = 0.9;

}  // namespace klab
