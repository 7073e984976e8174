// Where times of rungs on this machine are known from, for times_here() and for programs that print nothing.
#pragma once

#include "harness/program/call_times.h"

namespace klab {

/// Returns the recorded rows of this machine, if klab's folder is found, and the user's cache; no notes, no progress.
CallTimes::Sources sources_of_times_here();

}  // namespace klab
