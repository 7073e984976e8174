// Formats a timed ladder: one line per rung, with bars for the speedups.
#pragma once

#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/records/rows.h"
#include "harness/timing/bench.h"
#include "harness/timing/ceilings.h"

namespace klab {

/// Returns the ceilings of this machine in a few lines.
std::string ceilings_text(const Ceilings& ceilings, int threads);

/// Returns one line of warning if other work keeps the machine busy, else an empty string.
std::string noise_text();

/// Returns heading, ceiling, table, and the entries that were skipped, failed or look like an error, each
/// with its reason.
std::string ladder_text(const Ladder& ladder, const std::vector<Row>& rows);

/// Describes how cost grows along a sweep compared to the contract's formula, and how time falls with
/// threads.
std::string sweep_text(const std::vector<Row>& rows);

/// Returns where the rows of an interrupted run are, as the continuation of "interrupted": ", 7 rows are in
/// x.csv" or "".
std::string interrupted_text(const Recording& run, const std::string& out);

/// Returns whether a row failed its check.
bool any_wrong(const std::vector<Row>& rows);

/// watch_interrupt() installs the handler once. interrupted() returns whether SIGINT was received since then.
/// A second SIGINT ends the program.
void watch_interrupt();
bool interrupted();
inline constexpr int exit_interrupted = 130;  // the shells' convention

}  // namespace klab
