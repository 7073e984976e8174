// Compares two recorded runs: finds the comparable rows, picks an anchor, and computes the verdicts.
//
// Times are compared relative to an anchor that ran in the same rounds, so that a slower day or machine is
// not taken for a regression. The anchor is the first rung of the ladder, a library, or the ceiling,
// whichever repeats best in the base. An anchor that itself changed would make everything else appear changed
// in the other direction. So a verdict that another anchor clearly contradicts is withheld.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/compare/verdict.h"
#include "harness/records/rows.h"

namespace klab {

/// Rounds are left out if a variant's threads waited for a processor by this fraction of the time more than
/// twice the usual share in the base. They show what else ran.
inline constexpr double kDisturbed = 0.1;

/// Sessions with more other work than this, in hardware threads, are left out. The count starts from the
/// quieter of the two runs, so that two runs on an equally busy machine can be compared.
inline constexpr double kOthers = 0.2;

/// With one process per run, nothing shows how much processes differ. A change up to this fraction is
/// attributed to that.
inline constexpr double kOneProcess = 0.04;

/// If the machine itself ran faster or slower than for the base by this factor, judged by the ceiling of the
/// same rounds, changes up to that factor are not judged. Processors do not change speed equally for all
/// code.
inline constexpr double kMoved = 1.2;

/// A baseline of fewer sessions is compared by rounds, as one process.
inline constexpr int kFewestSessions = 4;

struct ComparisonOptions {
  VerdictOptions verdict;
  bool absolute = false;          // compares times without an anchor; only valid on one machine
  std::vector<std::string> only;  // ids of variants to judge; empty: all. The others serve only as anchors
};

/// One variant at one shape.
struct Change {
  std::string lab, op, variant, size, shape, cache;
  int threads = 0;
  std::string anchor;       // id of a variant, "ceiling fma f32", or "clock"
  double base_seconds = 0;  // median over all rounds; 0 if there are no times
  double fresh_seconds = 0;
  int base_units = 0, fresh_units = 0;        // sessions, or rounds if there are no sessions
  int base_left_out = 0, fresh_left_out = 0;  // of them, because other work took the processor
  double machine = 0;                         // log of the speedup of the ceiling over the base
  bool measured = false;                      // the judgement holds a change of times, not only a verdict
  bool by_noise = false;                      // undecided because of noise or other work
  Judgement judgement;
  std::string reason;  // reason for an undecided verdict, or another remark; may be empty
  std::string failed;  // check that the new variant failed; then there is no judgement
};

struct CompareResult {
  std::vector<Change> changes;
  std::vector<std::string> missing;  // only in the base: "variant, size"
  std::vector<std::string> added;    // only in the new run
  std::vector<std::string>
      notes;              // another commit, another machine, other load: all that differs besides the code
  bool sessions = false;  // units are sessions
  bool unusable_base = false;  // other work left no session of the base for any variant
  double widest = 0;           // log ratio: noise that hides a larger slowdown fails the gate
  int count(Verdict verdict) const;
  /// Returns the variants that noise leaves undecided though they were measured slower by more than `widest`.
  std::vector<const Change*> hidden_slowdowns() const;
};

/// Throws std::invalid_argument with the reason if nothing can be compared: no common variant and shape, only
/// one repetition, or absolute times from two machines.
CompareResult compare_runs(const Recording& base, const Recording& fresh,
                           const ComparisonOptions& options = {});

/// Returns 0 if nothing is slower, 1 if something is slower or wrong, and 2 if nothing could be decided, if noise hides a
/// measured slowdown, or with `strict` if anything is undecided or gone.
int exit_code_of(const CompareResult& result, bool strict = false);

/// Returns the number of sessions in which something was timed and not refused.
int usable_sessions(const Recording& run);

/// Returns the key that identifies a row across runs: "variant|shape|threads|hot".
std::string key_of(const Row& row);
std::string key_of(const Change& change);

}  // namespace klab
