// Launches that wait for the host, and the work behind them. Work runs when it is submitted, on a thread of its own if its
// kernel may look at memory that host code can write. As soon as a kernel waits for such a word, the call that
// launched it returns, and host code goes on, as on a GPU. Later work that is ordered behind it is queued.
//
// One thread at a time holds the lock of the runtime (State::mutex) and runs kernels: a waiting kernel gives it up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "harness/cuda_program/state.h"

namespace klab::program {

/// Work at its place in a stream.
struct Job {
  std::function<void()> run;
  uint64_t stream = 0, number = 0;  // of the stream, and of the work in it
};

/// Which work of the background is meant, by its stream and number.
using Which = std::function<bool(uint64_t stream, uint64_t number)>;

/// Returns whether such work has not ended.
bool in_background(const Which& which);
/// Runs a job whose kernel may wait for the host. Returns true if it has ended (throws what it throws), false if it waits
/// and goes on in the background.
bool run_beside_host(Job job);
/// Queues a job behind such work. Returns false if there is none.
bool queue_behind(const Which& which, Job& job);
/// Waits until such work has ended, while other threads use the runtime. Does nothing on a thread of the background.
void await_background(const Which& which);
/// Returns whether a launch with these parameters may look at memory that host code can write.
bool may_meet_host(const void* parameters, size_t bytes);

/// Holds the lock of the runtime. A waiting call gives it up and takes it back (await_background).
class RuntimeLock {
 public:
  RuntimeLock();
  ~RuntimeLock();
  RuntimeLock(const RuntimeLock&) = delete;
  RuntimeLock& operator=(const RuntimeLock&) = delete;
};

}  // namespace klab::program
