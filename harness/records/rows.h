// Rows: one a variant, shape and number of threads. What is written to a file, compared and reported.
//
// A CSV row stands alone: it names machine and build by fingerprint, and holds the time of every round, so
// that any statistic can be made again. Each row carries its number and the number of rows, so that a file
// that lost its end is noticed even when it lost whole lines.
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

/// Units: seconds a call, decimal bytes, operations. Ratios say how many times faster this variant is.
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
  int session = 1;         // which process of the run measured it; rounds are counted within a session
  int64_t iterations = 0;  // calls a round
  std::string skipped;     // reason; then nothing below is set
  std::string wrong;       // the check it failed; then nothing below is set
  Estimate time;
  double bytes = 0, flops = 0;  // compulsory, a call
  std::optional<Estimate> over_naive, over_parent,
      over_peer;                       // speedup; empty where there is nothing to compare
  std::string peer;                    // the best peer, over_peer's denominator
  std::string ceiling;                 // of the resource that binds: "copy memory", "transcendental f32"
  double ceiling_per_second = 0;       // in its unit_of(); 0 when there is none
  std::optional<Estimate> of_ceiling;  // fraction, taken within each round: 0.9 is 90 %
  std::vector<Resource> resources;     // the one that binds first; empty where one was named by hand
  std::string error;               // "above its ceiling: measurement error", that it is_refused(), or empty
  std::optional<double> expected;  // the header's prediction over the parent, at its shape only
  std::string verdict;             // of the prediction: "held", "not held", "undecided", or empty
  std::optional<double> worst_error;      // of the check, over its bound: 1 is all that is allowed
  std::map<std::string, int64_t> counts;  // exact ones of CUDA run on the host, "sectors" -> 4096 a call
  std::map<std::string, int64_t> needs;   // of CUDA kernels, "registers" -> 40: see needs_of
  std::vector<double> seconds;            // a call, one entry a round
  std::vector<double> shares;             // of the ceiling, one entry a round; empty without a ceiling
  std::optional<double> others;           // hardware threads that other work kept busy during the rounds
  std::vector<double> waited;             // share of each round spent waiting for a processor; may be empty
  std::vector<double> core_to_core_ns;    // of each round: measure_core_to_core_ns(); may be empty
  friend bool operator==(const Row&, const Row&) = default;
};

/// Summarizes a timed ladder.
std::vector<Row> rows_of(const Lab& lab, const Ladder& ladder, const Machine& machine);

/// How far above its ceiling a median may lie before it is called an error: two loops that both reach the
/// ceiling differ by this much.
inline constexpr double kCeilingMargin = 1.05;

/// From that share of the ceiling's best round on, the lower end of its interval, a time is refused: no correct kernel is so far
/// above what was measured beside it. Between the two, what a cache keeps of operands a little larger than itself.
inline constexpr double kRefused = 1.2;
/// Whether the row's time is no result: it is marked (`error`), and no speedup is counted from it.
bool is_refused(const Row& row);

/// Share of its ceiling below which no throughput explains the time of a ladder's fastest rung: ten times what the
/// busiest resource needs is spent on waiting for results, on branches, or on work beside the compulsory.
inline constexpr double kBinds = 0.1;

/// Of the rows of one ladder: the fastest rung that is timed, has a ceiling and is no library's; null without one.
const Row* best_rung(std::span<const Row* const> rows);

/// Whether that rung stays below kBinds of its ceiling, and that is known to be the largest of its resources' shares.
bool no_limit_binds(std::span<const Row* const> rows);

/// "no throughput limit binds: latency (the fastest rung has 6 % of read L3)", or empty where one does.
std::string latency_text(std::span<const Row* const> rows);

/// A recorded run.
struct Recording {
  std::vector<Row> rows;
  bool complete = true;  // false: interrupted, and holds what was finished until then
};

/// Something is wrong with a file of rows. what() is "FILE:LINE: column NAME: what, and what would be right".
struct RowsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// By the extension, .csv or .json (the latter with machine and ceilings). Written beside the target and
/// renamed into place, so that no reader ever sees half a file. Throws RowsError on another extension or when
/// it cannot be written.
void write_run(const std::string& path, const Recording& run, const Machine& machine,
               const Ceilings& ceilings);

/// Throws RowsError now rather than after the measurement when `path` cannot be written.
void require_writable(const std::string& path);

std::string to_csv(const Recording& run);
nlohmann::json to_json(const Row& row);
nlohmann::json to_json(const Recording& run, const Machine& machine, const Ceilings& ceilings);

/// Reads what to_csv wrote, in this version or an earlier one: columns that rows can do without may be missing, and
/// variants that have been renamed since come under their present ids. Throws RowsError: missing file, empty, header without a needed column (naming the command that records the rows anew) or with unknown ones,
/// ragged or cut lines, text where a number belongs, times that are not positive, a row twice, fewer rows
/// than announced, more than 64 MB, and, unless `allow_partial`, an interrupted run.
Recording read_csv(const std::string& path, bool allow_partial = false);

}  // namespace klab
