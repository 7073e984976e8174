// Threads of the host that run the blocks of a grid beside each other. They are kept from launch to launch, since each has
// shared memory, stacks and shadows of its own.
#pragma once

#include <functional>

namespace klab::simt {

/// Cores that this process may use, at least 1.
int cores();

/// Runs work() on `count` threads at once, none of them the caller's, and returns when all have ended; fewer where the
/// system gives no more threads. Calls from several threads follow one another. `work` must not throw. Faults are
/// handled on these threads as on any other; signals from outside go to other threads.
/// Throws simt::Error where no thread can be made.
void on_crew(int count, const std::function<void()>& work);

}  // namespace klab::simt
