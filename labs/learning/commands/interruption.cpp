#include "labs/learning/commands/interruption.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "harness/cli/ladder_text.h"

namespace klab::learning {
namespace {

volatile sig_atomic_t writing = 0, waits = 0;
char text[1024];  // of the handler, which may not allocate
volatile sig_atomic_t length = 0;

[[noreturn]] void leave() {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, size_t(length));
  _exit(exit_interrupted);
}

void at_interrupt(int) {
  if (writing == 0) leave();
  waits = 1;
}

}  // namespace

void on_interruption(const std::string& message) {
  uninterrupted([&] {
    const std::string line = "\nklab: " + message.substr(0, sizeof text - 8) + "\n";
    std::memcpy(text, line.data(), line.size());
    length = sig_atomic_t(line.size());
  });
  struct sigaction action {};
  action.sa_handler = at_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

void uninterrupted(const std::function<void()>& write) {
  writing = 1;
  write();
  writing = 0;
  if (waits != 0) leave();
}

}  // namespace klab::learning
