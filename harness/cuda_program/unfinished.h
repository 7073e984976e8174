// A launch that waits for something, which host code has left, and work in streams that comes behind it.
#pragma once

#include <cstdint>
#include <string>

#include "harness/cuda_program/stream_state.h"

namespace klab::program {

/// Work of a stream, as it was submitted.
struct Submitted {
  CUstream_st* stream;
  uint64_t number;
  StreamClock before;  // what it comes behind, in other streams
  int line;            // of the call
  bool meanwhile;      // it may be done while a kernel runs: copies, fills, functions of the host
  Work work;
};

/// Thrown by the body of a call that has to wait for unfinished work: api_without_wait() waits and runs the body again.
struct MustWait {};

bool has_unfinished();
/// Returns whether unfinished work lies in the stream, or in what comes before it.
bool is_unfinished(uint64_t stream, const StreamClock& before);
/// Throws MustWait if work of the stream, or what comes before it, is unfinished.
void require_finished(uint64_t stream, const StreamClock& before);
/// Returns true and keeps the work for later if it comes behind unfinished work, or if it is a launch: kernels run one at a time.
bool is_kept(const Submitted& work);
/// The host has left the launch that the stream's work `number` is.
void left_launch(uint64_t stream, uint64_t number, uint32_t first_interval, int line);
/// Waits for all of it. `on_gpu`: the running call waits for it on a GPU, too.
void finish_all(bool on_gpu);
/// Runs what waited for a launch that has ended by now.
void look_after_unfinished();
/// Runs work that was submitted.
void run_submitted(const Submitted& work);
/// Extends the intervals of a launch that the host had left.
void launch_took_until(uint32_t first, uint32_t end);

}  // namespace klab::program
