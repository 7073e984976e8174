#include "harness/check/crash_guard.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/core.h>
#include <omp.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "harness/check/work_notes.h"
#include "harness/core/guarded.h"
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

thread_local sigjmp_buf way_out;
thread_local bool has_way_out = false;  // survive() is on this thread's stack
thread_local int level_there = 0;       // of parallel regions

uintptr_t place_of_fault(const void* context) {
#if defined(__x86_64__)
  return uintptr_t(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return uintptr_t(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  (void)context;
  return 0;
#endif
}

/// The C library's own code may hold its locks: what crashed there cannot be left behind.
bool in_c_library(const void* context) {
  Dl_info here{}, there{};
  if (dladdr(reinterpret_cast<const void*>(place_of_fault(context)), &here) == 0)
    return false;  // a jump to nowhere
  return dladdr(reinterpret_cast<const void*>(&::abort), &there) != 0 && here.dli_fbase == there.dli_fbase;
}

// The place of the last crash in a module that was loaded while the process ran: its file, and the offset in it.
char crash_file[256];
uintptr_t crash_offset = 0;

/// Returns whether the address is in a loaded module that is neither a library nor this program, and records it if so.
bool is_in_module(uintptr_t at) {
  Dl_info there{}, here{};
  if (at == 0 || dladdr(reinterpret_cast<const void*>(at), &there) == 0 || there.dli_fname == nullptr)
    return false;
  if (dladdr(reinterpret_cast<const void*>(&is_in_module), &here) != 0 && here.dli_fbase == there.dli_fbase)
    return false;
  const char* slash = strrchr(there.dli_fname, '/');
  const char* name = slash == nullptr ? there.dli_fname : slash + 1;
  if (strncmp(name, "lib", 3) == 0 || strncmp(name, "ld-", 3) == 0) return false;
  strncpy(crash_file, there.dli_fname, sizeof crash_file - 1);
  crash_offset = at - reinterpret_cast<uintptr_t>(there.dli_fbase);
  return true;
}

/// Records where a loaded module crashed: at the instruction itself, or at its call of what crashed.
void note_place(const void* context) {
  crash_offset = 0;
  if (is_in_module(place_of_fault(context))) return;
  void* frames[24];
  const int count = backtrace(frames, int(std::size(frames)));
  for (int i = 0; i < count; ++i)
    if (is_in_module(reinterpret_cast<uintptr_t>(frames[i]) - 1)) return;
}

bool can_be_left(int signal, const void* context) {
  return has_way_out && signal != SIGABRT && omp_get_level() == level_there && !in_c_library(context);
}

void say(const char* text) {
  // Nothing can be done about a failed write here.
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

/// Whether another process has sent the signal. The processor's faults have positive codes, and what a kernel raises is its own.
bool is_from_outside(const siginfo_t* info) {
  return (info->si_code == SI_USER || info->si_code == SI_QUEUE) && info->si_pid != getpid();
}

// Only calls that are safe in a signal handler, except for a fault in the middle of a kernel's own code.
void handle(int signal, siginfo_t* info, void* context) {
  const bool sent = is_from_outside(info);
  if (!sent && mend_memory_fault(signal, info, context)) return;
  if (!sent) simt::kernel_fault(signal, info, context);
  crash_offset = 0;
  if (!sent) note_place(context);
  if (!sent && can_be_left(signal, context)) {
    has_way_out = false;
    siglongjmp(way_out, signal);
  }
  const char* name = "a signal";
  for (size_t i = 0; i < kCount; ++i) {
    if (kSignals[i] == signal) name = kNames[i];
    sigaction(kSignals[i], &previous[i], nullptr);
  }
  if (crash_offset != 0) {
    char place[sizeof crash_file + 32];
    snprintf(place, sizeof place, "klab: place %s+0x%zx\n", crash_file, size_t(crash_offset));
    say(place);
  }
  say("klab: ");
  say(name);
  if (sent) {
    char sender[48];
    snprintf(sender, sizeof sender, " from process %d", int(info->si_pid));
    say(sender);
  }
  say(" while ");
  say(current);
  raise(signal);  // delivered when this returns, to the earlier handler: by default it ends the process
}

}  // namespace

CrashGuard::CrashGuard() {
  doing("checking");
  void* warm[1];
  backtrace(warm, 1);  // loads what it needs, which a signal handler must not
  stack_t mine{};
  mine.ss_sp = stack;
  mine.ss_size = sizeof stack;
  sigaltstack(&mine, &previous_stack);
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kCount; ++i) sigaction(kSignals[i], &action, &previous[i]);
  before_ = std::make_unique<ProcessState>();
}

CrashGuard::~CrashGuard() {
  for (size_t i = 0; i < kCount; ++i) sigaction(kSignals[i], &previous[i], nullptr);
  sigaltstack(&previous_stack, nullptr);
}

std::optional<std::string> CrashGuard::survive(const std::function<void()>& call) {
  level_there = omp_get_level();
  const int signal = sigsetjmp(way_out, 1);  // with the mask of signals: the handler's does not stay
  if (signal != 0) {
    std::string name = "a signal";
    for (size_t i = 0; i < kCount; ++i)
      if (kSignals[i] == signal) name = kNames[i];
    if (signal == SIGFPE) name += " (an integer division by zero, or one that overflows)";
    if (crash_offset != 0) name += fmt::format(", at {}+0x{:x}", crash_file, crash_offset);
    return name;
  }
  has_way_out = true;
  const struct Done {
    ~Done() { has_way_out = false; }
  } done;  // also where it throws
  call();
  return std::nullopt;
}

void CrashGuard::doing(const std::string& what) {
  const size_t length = std::min(what.size(), sizeof current - 2);
  memcpy(current, what.data(), length);
  current[length] = '\n';
  current[length + 1] = '\0';
  note_work(what);
}

}  // namespace klab
