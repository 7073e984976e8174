// Ends a run on request. SIGINT and SIGTERM ask for an orderly end: the present step is finished, and the
// result saved and evaluated. A second signal ends the process at once, and so does the first SIGTERM if the
// step does not end.
#pragma once

#include <atomic>

namespace klab {

/// Set by a signal.
extern std::atomic<bool> stop_requested;

/// Handles the signals while it lives.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

/// Reports the duration of a step: a SIGTERM waits for a few steps, and for some seconds at least.
void step_took(double seconds);

/// Reports that the request was seen: the process is not ended by force any more.
void stop_heeded();

}  // namespace klab
