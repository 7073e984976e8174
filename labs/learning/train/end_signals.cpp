#include "labs/learning/train/end_signals.h"

#include <csignal>

namespace klab::learning {
namespace {

volatile std::sig_atomic_t asked = 0;
void ask_for_end(int) { asked = 1; }

}  // namespace

EndSignals::EndSignals() {
  asked = 0;
  old_ = {std::signal(SIGINT, ask_for_end), std::signal(SIGTERM, ask_for_end)};
}

EndSignals::~EndSignals() {
  std::signal(SIGINT, old_[0]);
  std::signal(SIGTERM, old_[1]);
}

bool end_asked() { return asked != 0; }

}  // namespace klab::learning
