// Two recorded runs against each other: what can be compared, with what as the measure, and the verdicts.
//
// Compared is time over the time of an anchor that ran in the same rounds, so that a slower day or machine does
// not read as a regression: the first rung of the ladder, a library, or the ceiling, whichever repeats best in
// the base. An anchor that changed itself would make everything else look changed the other way; so a verdict
// that another anchor surely contradicts is withheld.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/compare/verdict.h"
#include "harness/records/rows.h"

namespace klab {

/// Rounds in which a variant's threads waited for a processor by this share of the time more than twice of what is usual
/// in the base are left out: what they show is what else ran.
inline constexpr double kDisturbed = 0.1;

/// Sessions beside more other work than this, in hardware threads, are left out; the quieter of the two runs is where it
/// counts from, so that two runs on an equally busy machine can be compared.
inline constexpr double kOthers = 0.2;

/// With one process a run nothing tells how much processes differ; this much of a change is put down to it.
inline constexpr double kOneProcess = 0.04;

/// When the machine itself ran faster or slower by this factor than for the base, by the ceiling of the same rounds, changes
/// no larger than that are not judged: processors do not speed up or slow down all code alike.
inline constexpr double kMoved = 1.2;

struct ComparisonOptions {
  VerdictOptions verdict;
  bool absolute = false;          // times themselves, without an anchor; only on one machine
  std::vector<std::string> only;  // ids of variants to judge; empty: all. The others serve as anchors
};

/// One variant at one shape.
struct Change {
  std::string lab, op, variant, size, shape, cache;
  int threads = 0;
  std::string anchor;       // id of a variant, "ceiling fma f32", or "clock"
  double base_seconds = 0;  // median of all rounds
  double fresh_seconds = 0;
  int base_units = 0, fresh_units = 0;  // sessions, or rounds where there are no sessions
  int left_out = 0;                     // sessions of the new run in which other work took the processor
  double machine = 0;                   // log of how much faster the ceiling was than in the base
  Judgement judgement;
  std::string reason;  // why it is undecided, or what else is to be known; may be empty
  std::string failed;  // the check that the new one failed; then there is no judgement
};

struct CompareResult {
  std::vector<Change> changes;
  std::vector<std::string> missing;  // in the base only: "variant, size"
  std::vector<std::string> added;    // in the new run only
  std::vector<std::string> notes;    // other commit, other machine, ...
  bool sessions = false;             // units are sessions
  int count(Verdict verdict) const;
};

/// Throws std::invalid_argument when nothing can be compared (no variant and shape in common, one repetition,
/// absolute times of two machines) and says why.
CompareResult compare_runs(const Recording& base, const Recording& fresh,
                           const ComparisonOptions& options = {});

/// 0: none slower; 1: some slower or wrong; 2: nothing could be decided, or with `strict` something could not.
int exit_code_of(const CompareResult& result, bool strict = false);

/// "variant|shape|threads|hot": what makes two rows the same thing.
std::string key_of(const Row& row);
std::string key_of(const Change& change);

}  // namespace klab
