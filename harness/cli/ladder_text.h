// A timed ladder as people read it: one line a rung, with bars for the speedups.
#pragma once

#include <string>
#include <vector>

#include "harness/bench.h"
#include "harness/ceilings.h"
#include "harness/lab.h"
#include "harness/rows.h"

namespace klab {

/// What this machine can do at most, in a few lines.
std::string ceilings_text(const Ceilings& ceilings, int threads);

/// Heading, ceiling, table, and what was skipped, failed or looks like an error, each with its reason.
std::string ladder_text(const LabOp& op, const Ladder& ladder, const std::vector<Row>& rows);

/// True when one of the rows failed its check.
bool any_wrong(const std::vector<Row>& rows);

/// Asks, once: was SIGINT received since the first call of watch_interrupt()? A second SIGINT ends the
/// program.
void watch_interrupt();
bool interrupted();
inline constexpr int exit_interrupted = 130;  // what shells expect

}  // namespace klab
