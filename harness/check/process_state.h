// What a kernel may leave behind in its process without writing a byte of its outputs: rounding mode, signal handlers, the
// working directory. Taken before a call, compared after it, and put back.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace klab {

class ProcessState {
 public:
  /// Records the state of the process and of this thread.
  ProcessState();
  ~ProcessState();
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

  /// Describes what differs now: "the rounding mode, now upward". OpenMP should have this number of threads. Signal handlers,
  /// limits and child processes take a hundred system calls, and are left out without `all`.
  std::vector<std::string> changes(int threads, bool all = true) const;
  /// Describes the changes that another process may have made: `renice`, `taskset`, `chrt` and `prlimit` change a running process.
  /// A nice value that this process itself asked for since the last snapshot or adopt_outside() is not among them.
  std::vector<std::string> outside_changes(bool all = true) const;
  /// Restores the recorded state, and gives OpenMP this number of threads. Leaves what cannot be undone: a better priority, which
  /// this process may not take again.
  void restore(int threads) const;

  /// What other processes can change.
  struct Outside;
  std::shared_ptr<const Outside> outside_now() const;
  /// Takes that for what was before, and makes it so.
  void adopt_outside(const Outside& values);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Returns the number that the next opened file gets, the smallest that is free. -1 where that cannot be told.
int next_file();
/// Returns which file a call has left open, and closes it: "a file is left open: data.bin". `before` is what next_file()
/// returned before the call. Empty where there is none, or where it is closed within a tenth of a second: another thread had it.
std::string file_left(int before);
/// Returns the number of a file that was open when next_file() returned `before` and is closed now; -1 where there is none.
int file_closed(int before);
/// Puts /dev/null in the place of a closed file. False where the number is in use again, or no file can be opened.
bool replace_file(int number);

/// Makes the arithmetic of OpenMP's threads equal this thread's, and names what differed: "a worker thread's flush-to-zero". Empty
/// where all is the same. Starts a parallel region of this number of threads.
std::string mend_arithmetic_of_workers(int threads);

/// Releases tiles that OpenMP's threads hold, and says so: "tiles that a worker thread has not released". Empty where none does.
/// Starts a parallel region of that size.
std::string release_tiles_of_workers(int threads);

}  // namespace klab
