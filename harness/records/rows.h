// Rows: one per variant, shape and number of threads. They are written to files, compared and reported.
//
// A CSV row is self-contained: it names machine and build by fingerprint and holds the time of every round,
// so any statistic can be recomputed. Each row carries its number and the number of rows, so a truncated file
// is noticed even if whole lines are missing.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/timing/bench.h"
#include "harness/timing/ceilings.h"
#include "harness/timing/machine.h"
#include "harness/timing/statistics.h"

namespace klab {

/// Units: seconds per call, decimal bytes, operations. Ratios state how many times faster this variant is.
struct Row {
  std::string fingerprint;
  std::string commit;
  std::string lab;
  std::string op;
  std::string variant;
  std::string backend;
  std::string instruction_set;
  std::string size;   // the shape's name in the lab, "in L1"
  std::string shape;  // "m=1024 n=1024 k=1024"
  std::string cache;  // "hot", or "cold: 5 copies of 28 MB"
  int threads = 0;
  int session = 1;         // process of the run that measured it; rounds are counted within a session
  int64_t iterations = 0;  // calls per round
  std::string skipped;     // reason; then no later member is set
  std::string wrong;       // check that it failed; then no later member is set
  Estimate time;
  double bytes = 0, flops = 0;  // compulsory, per call
  std::optional<Estimate> over_naive, over_parent,
      over_peer;                       // speedups; empty if there is nothing to compare with
  std::string peer;                    // the best peer, over_peer's denominator
  std::string ceiling;                 // of the binding resource: "copy memory", "transcendental f32"
  double ceiling_per_second = 0;       // in its unit_of(); 0 without one
  std::optional<Estimate> of_ceiling;  // fraction, computed within each round: 0.9 is 90 %
  std::vector<Resource> resources;     // binding resource first; empty if the ceiling was set by hand
  // "above its ceiling: measurement error", the reason of is_refused(), or empty
  std::string error;
  std::optional<double> expected;     // the header's predicted speedup over the parent, only at its shape
  std::string verdict;                // outcome of the prediction: "held", "not held", "undecided", or empty
  std::optional<double> worst_error;  // of the check, relative to its bound: 1 is the limit
  std::map<std::string, int64_t> counts;  // exact counts of CUDA on the host, "sectors" -> 4096 per call
  std::map<std::string, int64_t> needs;   // resources of CUDA kernels, "registers" -> 40: see needs_of
  std::vector<double> seconds;            // per call, one entry per round
  std::vector<double> shares;             // of the ceiling, one entry per round; empty without a ceiling
  std::optional<double> others;           // hardware threads that other work used during the rounds
  // fraction of each round spent waiting for a processor; may be empty
  std::vector<double> waited;
  std::vector<double> core_to_core_ns;  // by round: measure_core_to_core_ns(); may be empty
  friend bool operator==(const Row&, const Row&) = default;
};

/// Summarizes a timed ladder.
std::vector<Row> rows_of(const Lab& lab, const Ladder& ladder, const Machine& machine);

/// A median may lie above its ceiling by this factor before it is called an error: two loops that both reach
/// the ceiling differ by this much.
inline constexpr double kCeilingMargin = 1.05;

/// A time is rejected when the lower end of its interval exceeds this multiple of the ceiling's best round:
/// no correct kernel is that much faster than a measurement next to it. Smaller excess can come from a cache
/// that keeps a part of operands slightly larger than itself.
inline constexpr double kRefused = 1.2;
/// Returns whether the row's time was rejected: it is marked (`error`), and no speedup is computed from it.
bool is_refused(const Row& row);

/// If the fastest rung of a ladder stays below this fraction of its ceiling, no throughput explains its time:
/// it spends ten times what the busiest resource needs on waiting for results, on branches, or on work beyond
/// the compulsory.
inline constexpr double kBinds = 0.1;

/// Returns the fastest rung in the rows of one ladder that is timed, has a ceiling and is not a library; null
/// without one.
const Row* best_rung(std::span<const Row* const> rows);

/// Returns whether that rung stays below kBinds of its ceiling, and the ceiling is known to be the largest of
/// its resources' shares.
bool no_limit_binds(std::span<const Row* const> rows);

/// Returns "no throughput limit binds: latency (the fastest rung has 6 % of read L3)", or an empty string if
/// a limit binds.
std::string latency_text(std::span<const Row* const> rows);

/// A recorded run.
struct Recording {
  std::vector<Row> rows;
  bool complete = true;  // false: interrupted; holds the rows finished by then
};

/// Thrown for an invalid file of rows. what() is "FILE:LINE: column NAME: what, and what would be right".
struct RowsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes a run in the format of its extension, .csv or .json (the latter with machine and ceilings). Writes
/// a temporary file in the same folder and renames it, so readers never see half a file. Throws RowsError for
/// another extension, or if the file cannot be written.
void write_run(const std::string& path, const Recording& run, const Machine& machine,
               const Ceilings& ceilings);

/// Throws RowsError now, rather than after the measurement, if `path` cannot be written.
void require_writable(const std::string& path);

std::string to_csv(const Recording& run);
nlohmann::json to_json(const Row& row);
nlohmann::json to_json(const Recording& run, const Machine& machine, const Ceilings& ceilings);

/// Reads the output of to_csv, of this version or an earlier one. Optional columns may be missing, and
/// renamed variants get their present ids. Throws RowsError for a missing or empty file; a header without a
/// required column (naming the command that records the rows again) or with unknown ones; ragged or truncated
/// lines; text instead of a number; times that are not positive; a duplicate row; fewer rows than announced;
/// more than 64 MB; and, unless `allow_partial`, an interrupted run.
Recording read_csv(const std::string& path, bool allow_partial = false);

}  // namespace klab
