// A timed ladder as people read it: one line a rung, with bars for the speedups.
#pragma once

#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/records/rows.h"
#include "harness/timing/bench.h"
#include "harness/timing/ceilings.h"

namespace klab {

/// What this machine can do at most, in a few lines.
std::string ceilings_text(const Ceilings& ceilings, int threads);

/// One line of warning when other work keeps the machine busy, else nothing.
std::string noise_text();

/// Heading, ceiling, table, and what was skipped, failed or looks like an error, each with its reason.
std::string ladder_text(const Ladder& ladder, const std::vector<Row>& rows);

/// How cost grows along a sweep, against the contract's formula; how time falls with threads.
std::string sweep_text(const std::vector<Row>& rows);

/// What became of the rows of an interrupted run, to be said after "interrupted": ", 7 rows are in x.csv" or "".
std::string interrupted_text(const Recording& run, const std::string& out);

/// True when one of the rows failed its check.
bool any_wrong(const std::vector<Row>& rows);

/// Asks, once: was SIGINT received since the first call of watch_interrupt()? A second SIGINT ends the
/// program.
void watch_interrupt();
bool interrupted();
inline constexpr int exit_interrupted = 130;  // what shells expect

}  // namespace klab
