// SIGINT and SIGTERM as a wish: what runs ends at its next step, with what it has.
#pragma once

#include <array>

namespace klab::learning {

/// Listens for SIGINT and SIGTERM while it lives; the handlers of before come back with its end.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

 private:
  std::array<void (*)(int), 2> old_{};
};

/// Returns whether one of the two has come since the last EndSignals began.
bool end_asked();

}  // namespace klab::learning
