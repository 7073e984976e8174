#include "harness/check/crash_guard.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "harness/simt/fault.h"

namespace klab {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr const char* kNames[] = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT"};
constexpr size_t kCount = sizeof kSignals / sizeof *kSignals;

struct sigaction previous[kCount];
thread_local char current[512];   // what this thread is doing, newline included
alignas(16) char stack[1 << 18];  // a stack overflow leaves none to handle it on
stack_t previous_stack;

void say(const char* text) {
  // Nothing can be done about a failed write here.
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

// Only calls that are safe in a signal handler, except for a fault in the middle of a kernel's own code.
void handle(int signal, siginfo_t* info, void* context) {
  simt::kernel_fault(signal, info, context);
  const char* name = "a signal";
  for (size_t i = 0; i < kCount; ++i) {
    if (kSignals[i] == signal) name = kNames[i];
    sigaction(kSignals[i], &previous[i], nullptr);
  }
  say("klab: ");
  say(name);
  say(" while ");
  say(current);
  raise(signal);  // delivered when this returns, to whoever handled it before: by default the process ends by
                  // it
}

}  // namespace

CrashGuard::CrashGuard() {
  doing("checking");
  stack_t mine{};
  mine.ss_sp = stack;
  mine.ss_size = sizeof stack;
  sigaltstack(&mine, &previous_stack);
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kCount; ++i) sigaction(kSignals[i], &action, &previous[i]);
}

CrashGuard::~CrashGuard() {
  for (size_t i = 0; i < kCount; ++i) sigaction(kSignals[i], &previous[i], nullptr);
  sigaltstack(&previous_stack, nullptr);
}

void CrashGuard::doing(const std::string& what) {
  const size_t length = std::min(what.size(), sizeof current - 2);
  memcpy(current, what.data(), length);
  current[length] = '\n';
  current[length + 1] = '\0';
}

}  // namespace klab
