#include "labs/radiance/run/stop.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

namespace klab {

std::atomic<bool> stop_requested{false};

namespace {

constexpr unsigned kLeastPatience = 5;  // seconds
constexpr double kStepsOfPatience = 4;

std::atomic<unsigned> patience{kLeastPatience};

void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void on_signal(int signal) {
  if (stop_requested.exchange(true)) return end_by(signal);
  if (signal == SIGTERM) alarm(patience);
}

void on_alarm(int) {
  constexpr char text[] = "klab: the present step does not end; what was saved last stays\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  end_by(SIGTERM);
}

}  // namespace

StopSignals::StopSignals() {
  stop_requested = false;
  patience = kLeastPatience;
  std::signal(SIGALRM, on_alarm);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopSignals::~StopSignals() {
  alarm(0);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM}) std::signal(signal, SIG_DFL);
}

void step_took(double seconds) {
  const double wait = std::ceil(std::min(kStepsOfPatience * seconds, 3600.0));
  if (wait > patience) patience = unsigned(wait);
}

void stop_heeded() { alarm(0); }

}  // namespace klab
