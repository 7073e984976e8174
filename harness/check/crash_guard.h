// Says what was running when the process dies.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/check/process_state.h"

namespace klab {

/// While one lives, a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) prints "klab: SIGSEGV while <doing>"
/// to stderr before the process ends by that signal, as it would have; a crash in a module that was
/// loaded also prints "klab: place FILE+0xOFFSET". One that another process has sent is named so: "klab: SIGSEGV from process 17 while
/// <doing>". Three kinds do not end it: accesses that
/// mend_memory_fault() lets through and notes; faults of CUDA kernels on the host executor; and faults in the thread of
/// survive(), outside of parallel regions. Forking each run instead would survive every crash, but OpenMP's threads do
/// not live on in a forked child; `klab check --apart` gives each variant a process of its own. One at a time; not for
/// several threads at once.
class CrashGuard {
 public:
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

  /// What is being done from now on.
  void doing(const std::string& what);

  /// The process as it was when this one began, its own handlers in place.
  const ProcessState& before() const { return *before_; }
  /// Takes what other processes have changed for what was before.
  void adopt_outside(const ProcessState::Outside& values) { before_->adopt_outside(values); }

  /// Runs it. What ended it, where that was a crash of the kind that can be left behind: "SIGFPE (a division by zero)", with the
  /// place in a loaded module.
  /// What it held then is lost: memory, locks.
  std::optional<std::string> survive(const std::function<void()>& call);

 private:
  std::unique_ptr<ProcessState> before_;
};

}  // namespace klab
