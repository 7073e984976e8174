// Host threads that run the blocks of a grid concurrently. They are kept from launch to launch, because each
// has its own shared memory, stacks and shadow cells.
#pragma once

#include <functional>

namespace klab::simt {

/// Returns the number of cores that this process may use, at least 1.
int cores();

/// Runs work() on `count` threads concurrently, none of them the caller's, and returns when all have ended.
/// Uses fewer threads when the system grants no more. Calls from several threads are serialized. `work` must
/// not throw. Faults are handled on these threads as on any other; external signals go to other threads.
/// Throws simt::Error if no thread can be created.
void on_host_workers(int count, const std::function<void()>& work);

/// Begins the same, and returns true when all have ended, or false as soon as `leaves()` returns true. It is asked again at
/// ask_again(). After false `work` must live until host_workers_ended() has returned true.
bool begin_on_host_workers(int count, const std::function<void()>& work, const std::function<bool()>& leaves);
void ask_again();
/// Waits for the end of the work, at most for that time. Returns whether all have ended.
bool host_workers_ended(int milliseconds);
/// Returns how many threads there are for such work.
int host_workers();

}  // namespace klab::simt
