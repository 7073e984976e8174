// Times of rungs for the commands: rows that are recorded of this machine, the user's cache, and a measurement for the rest.
#pragma once

#include "harness/program/call_times.h"

namespace klab {

/// Where klab's own folder is found, reports/recorded/<machine>/run.csv is read. Notes go to standard error, and so
/// does, where that is a terminal, what is being measured.
CallTimes times_here();

}  // namespace klab
