// Races between the threads of a CPU variant: two accesses to the same bytes by different threads, one of them at least a write,
// that nothing orders. They are found whether or not the threads met in this run. The caller reads the outputs last: a thread that it
// does not wait for has written what nothing orders before that.
//
// The variant is compiled a second time with -fsanitize=thread, without the sanitizer's library: each access calls this file
// (through harness/simt/hooks.cpp). Each thread has a clock for each thread (Lamport, CACM 21(7), 1978; Mattern 1989): a parallel
// region, a barrier, a lock, an atomic operation that releases or acquires, a thread's start and end pass clocks on, and an access
// is compared with the last eight to the same eight bytes, as in Serebryany and Iskhodzhanov, "ThreadSanitizer", WBIA 2009. GCC's
// libgomp is not instrumented, so what orders a team is seen where its functions are entered.
//
// Not seen: masked and scattered vector accesses, non-temporal stores, what the C library copies, teams of other OpenMP libraries;
// with OpenMP's tasks and `ordered` a watch is given up. Nothing of this is taken for a race.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <optional>
#include <string>

namespace klab {

/// Returns why races cannot be looked for in this build, "klab was built by Clang"; empty for GCC's without a sanitizer of its own.
std::string why_races_are_not_watched();
bool races_are_watched();

/// Loads the watched forms of klab's own rungs where the variable KLAB_WATCHED_RUNGS names their module (target klab_cpu_watched).
/// Throws std::invalid_argument if it cannot be loaded.
void load_watched_rungs();

struct ThreadRace {
  const void* address = nullptr;
  int bytes = 0;
  struct Side {
    bool write = false, atomic = false;
    const void* pc = nullptr;  // the address that the access returns to; null: the caller's, behind the call
  };
  Side earlier, later;
};

/// Listens to the threads that the calling thread starts, as long as it lives. One at a time.
class RaceWatch {
 public:
  RaceWatch();
  ~RaceWatch();
  RaceWatch(const RaceWatch&) = delete;
  RaceWatch& operator=(const RaceWatch&) = delete;
  /// Reads memory as the caller does behind the call: what others wrote there has to be ordered before.
  void read(const void* p, size_t bytes);
  /// The first race that was seen, once the threads are done.
  std::optional<ThreadRace> first() const;
  /// Returns the number of threads that have written something. Where it is 1, nothing was divided, and no race could be seen.
  int writers() const;
  /// Whether all words that were touched are remembered: a watch has room for a million.
  bool complete() const;
};

/// A parallel region (harness/check/thread_watch.cpp), made by the thread that begins it. Does nothing where there is no watch.
class RegionClock {
 public:
  RegionClock();
  ~RegionClock();
  RegionClock(const RegionClock&) = delete;
  RegionClock& operator=(const RegionClock&) = delete;
  struct Parts;

 private:
  friend class RegionMember;
  Parts* parts_ = nullptr;
};

/// One of its threads, while it does its part.
class RegionMember {
 public:
  explicit RegionMember(const RegionClock& region);
  ~RegionMember();
  RegionMember(const RegionMember&) = delete;
  RegionMember& operator=(const RegionMember&) = delete;

 private:
  RegionClock::Parts *region_, *outer_ = nullptr;
  size_t outer_barriers_ = 0;
  bool was_active_ = false;
};

/// A thread as it is started: what the thread that starts it knows, handed to the new one, and what it knew at its end, handed to
/// the one that joins it. Null where there is no watch.
struct ThreadClock;
ThreadClock* clock_for_thread();
void begin_thread(ThreadClock* clock);
void end_thread(ThreadClock* clock);
void thread_started(pthread_t thread, ThreadClock* clock);
void thread_joined(pthread_t thread);

// For the functions that order threads (harness/check/thread_order.cpp). They do nothing where there is no watch.

/// What this thread has done comes before what others do once they have acquired the same thing.
void releases(const void* thing);
void acquired(const void* thing);
/// Around waiting at a barrier of the team.
class BarrierClock {
 public:
  BarrierClock();
  ~BarrierClock();
  BarrierClock(const BarrierClock&) = delete;
  BarrierClock& operator=(const BarrierClock&) = delete;

 private:
  RegionClock::Parts* region_ = nullptr;
  size_t which_ = 0;
};
/// Something orders threads that is not followed: from here on nothing is called a race.
void give_up_watch();
/// Memory is given back: another thread may get it without being ordered.
void forget_memory(const void* p, size_t bytes);

}  // namespace klab
