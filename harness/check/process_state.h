// What a kernel may leave behind in its process without writing a byte of its outputs: rounding mode, signal handlers, the
// working directory. Taken before a call, compared after it, and put back.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace klab {

class ProcessState {
 public:
  /// As it is now, of the process and of this thread.
  ProcessState();
  ~ProcessState();
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

  /// What is another one now, in words: "the rounding mode, now upward". OpenMP is to have so many threads. The handlers
  /// of signals, limits and child processes are a hundred questions to the system, and are left out without `all`.
  std::vector<std::string> changes(int threads, bool all = true) const;
  /// Makes it what it was; OpenMP has so many threads then.
  void restore(int threads) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Returns the number that the next opened file gets, the smallest that is free. -1 where that cannot be told.
int next_file();
/// Says what has happened to open files since next_file() was `before`, and closes the first that was left open: "a file is left
/// open: data.bin". Empty where nothing has.
std::string file_left(int before);

/// The arithmetic of OpenMP's threads against this thread's, put right where it differs: "a worker thread's
/// flush-to-zero". Empty where all is the same. Starts a parallel region of so many threads.
std::string mend_arithmetic_of_workers(int threads);

/// Releases tiles that OpenMP's threads hold, and says so: "tiles that a worker thread has not released". Empty where none does.
/// Starts a parallel region of that size.
std::string release_tiles_of_workers(int threads);

}  // namespace klab
