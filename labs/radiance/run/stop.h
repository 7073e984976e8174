// How a run is asked to end. SIGINT and SIGTERM ask for an orderly end: the present step is finished, and what there is
// saved and evaluated. A second signal ends the process at once, and so does the first SIGTERM where the step does not end.
#pragma once

#include <atomic>

namespace klab {

/// Set by a signal.
extern std::atomic<bool> stop_requested;

/// From its construction to its end, signals ask.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

/// A step took so long: a SIGTERM waits for a few of them, and for some seconds at least.
void step_took(double seconds);

/// The request was seen: no patience ends any more.
void stop_heeded();

}  // namespace klab
