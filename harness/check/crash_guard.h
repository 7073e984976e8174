// Says what was running when the process dies.
#pragma once

#include <string>

namespace klab {

/// While one lives, a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) prints "klab: SIGSEGV while <doing>"
/// to stderr before the process ends by that signal, as it would have. Forking each run instead would survive
/// a crash, but OpenMP's threads do not live on in a forked child. One at a time; not for several threads at
/// once.
class CrashGuard {
 public:
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

  /// What is being done from now on.
  void doing(const std::string& what);
};

}  // namespace klab
