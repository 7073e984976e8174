// Which threads a call starts, how many there are of them at once, and which outlive it.
//
// Threads are counted where they are made: this program defines pthread_create(), which the C++ and OpenMP libraries call,
// hands the call on to the C library's, and runs a thread's function between two lines that count it. The same is done to the entry
// of GCC's parallel regions, so that the members of a team count while they work, not while they wait in the pool. Nothing is
// sampled: a thread that lives for a microsecond counts, too. Sanitized programs have a pthread_create() of their own: there
// threads are not watched. With LLVM's OpenMP the threads of the pool count, not those of a team.
#pragma once

#include <string>

namespace klab {

/// Whether threads are watched in this build.
bool threads_are_watched();

/// Gives OpenMP `threads` threads from now on, and nothing more in its pool: a call that is given three and takes eight has
/// to start some. Costs a tenth of a millisecond where the number changes.
void use_threads(int threads);

/// What a call did with threads; begins with the call.
class ThreadWatch {
 public:
  /// `asked`: the number of threads that may work at once. `all`: asks the system, too, for threads that were not made by pthread_create().
  ThreadWatch(int asked, bool all);
  ~ThreadWatch();
  ThreadWatch(const ThreadWatch&) = delete;
  ThreadWatch& operator=(const ThreadWatch&) = delete;
  /// After the call, before anything else is done with threads: "8 threads at once where 3 were asked for"; empty where
  /// it kept to its number. The calling thread counts where it works, in a parallel region or between starting threads and
  /// waiting for them.
  std::string too_many() const;
  /// The threads that worked at once; 1 where the calling thread worked alone.
  int most() const;
  /// Threads that are no pool's of a library's and still live: "a thread that it started still runs". Empty when there
  /// are none.
  std::string still_running() const;
  /// Waits until these have ended, at most so long. False where some still run.
  bool wait_for_end(double seconds) const;

 private:
  int asked_, own_before_, pool_before_, pool_ended_before_, tasks_before_, working_before_;
};

}  // namespace klab
