// The basis of cuda::barrier and cuda::pipeline: phases of a barrier, and copies that end with a phase (PTX
// manual, "Parallel Synchronization and Communication Instructions: mbarrier"). The state is a word of 8
// bytes, as on a GPU; only the executor knows the pending copies.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace klab {
namespace program {

/// Largest number of arrivals that a phase may expect.
inline constexpr unsigned kMostArrivals = (1u << 20) - 1;

/// Says, before main(), that the program hands the state of its barriers to PTX functions. Barriers in shared memory without a
/// completion function are then mbarriers (harness/simt/async_api.h) from their init() on. Returns true.
bool barriers_are_handed_out();
/// Initializes a barrier. Every phase waits for `expected` arrivals; the first phase is number 0.
void phases_begin(uint64_t* word, unsigned expected, const char* file, int line,
                  bool with_completion = false);
/// Counts `count` arrivals, of which later phases do not expect `drop`. The last arrival of a phase runs
/// `completion`, if there is one, lands the phase's copies, and begins the next phase. Returns the number of
/// the phase in which it arrived.
unsigned phase_arrive(uint64_t* word, unsigned count, unsigned drop, void (*completion)(void*),
                      void* argument, const char* file, int line);
/// The same for a barrier that is an mbarrier, whose phase also waits for `bytes` of asynchronous copies.
unsigned phase_arrive_tx(uint64_t* word, unsigned count, int64_t bytes, const char* file, int line);
/// Waits until that phase has ended. A phase that can never end is a deadlock.
void phase_wait(const uint64_t* word, unsigned phase, const char* file, int line);
/// Waits until a phase of that parity has ended: the current one, or the one before it.
void phase_wait_parity(const uint64_t* word, bool parity, const char* file, int line);
/// Returns whether the phase has ended; if not, yields to other threads.
bool phase_try_wait(const uint64_t* word, unsigned phase, const char* file, int line);
bool phase_try_wait_parity(const uint64_t* word, bool parity, const char* file, int line);
/// Copies `bytes` (4, 8 or 16) from global to shared memory; they land when the barrier's current phase ends.
void phase_copy(uint64_t* word, void* shared, const void* global, unsigned bytes, const char* file, int line);
/// Makes the copies that the thread has issued since its last commit (cp.async) land with the barrier's
/// current phase.
void phase_take_copies(uint64_t* word, const char* file, int line);

}  // namespace program
}  // namespace klab
