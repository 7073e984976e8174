// Accesses of instrumented code that runs as threads of the host, no kernel of the executor: rungs for the CPU that are compiled
// as -fsanitize=thread has it (harness/check/thread_races.h listens).
#pragma once

#include <atomic>
#include <cstddef>

namespace klab::simt {

class HostThreads {
 public:
  virtual ~HostThreads() = default;
  /// Code that returns to `pc` reads or writes these bytes.
  virtual void access(const void* p, size_t bytes, bool write, bool atomic, const void* pc) = 0;
  /// An atomic operation on `p` with a memory order of C++ (__ATOMIC_RELAXED and so on) is about to be done, or has been done.
  virtual void before_atomic(const void* p, bool writes, int order) = 0;
  virtual void after_atomic(const void* p, bool reads, int order) = 0;
  virtual void fence() = 0;
};

/// The listener, or null.
extern constinit std::atomic<HostThreads*> host_threads;
inline HostThreads* listening() { return host_threads.load(std::memory_order_relaxed); }

}  // namespace klab::simt
