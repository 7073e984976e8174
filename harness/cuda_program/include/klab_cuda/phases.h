// What cuda::barrier and cuda::pipeline stand on: phases of a barrier, and copies that end with a phase (PTX manual, "Parallel
// Synchronization and Communication Instructions: mbarrier"). The state is a word of 8 bytes, as on a GPU; copies that are under
// way are known to the executor only.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace klab {
namespace program {

/// Most arrivals that a phase may expect.
inline constexpr unsigned kMostArrivals = (1u << 20) - 1;

/// Every phase waits for `expected` arrivals; the first one is number 0.
void phases_begin(uint64_t* word, unsigned expected, const char* file, int line);
/// Counts `count` arrivals, `drop` of which later phases do not wait for. The last one of a phase runs `completion`, where there is one,
/// has the phase's copies land, and begins the next phase. Returns the number of the phase that it arrived in.
unsigned phase_arrive(uint64_t* word, unsigned count, unsigned drop, void (*completion)(void*),
                      void* argument, const char* file, int line);
/// Waits until that phase is over. A phase that can never be over is a deadlock.
void phase_wait(const uint64_t* word, unsigned phase, const char* file, int line);
/// Waits until a phase of that parity is over: the current one, or the one before it.
void phase_wait_parity(const uint64_t* word, bool parity, const char* file, int line);
/// Whether it is over; if not, others run first.
bool phase_try_wait(const uint64_t* word, unsigned phase, const char* file, int line);
bool phase_try_wait_parity(const uint64_t* word, bool parity, const char* file, int line);
/// Copies `bytes` (4, 8 or 16) from global to shared memory; they land when the barrier's current phase ends.
void phase_copy(uint64_t* word, void* shared, const void* global, unsigned bytes);
/// Has the copies that the thread has asked for since its last commit (cp.async) land with the barrier's current phase.
void phase_take_copies(uint64_t* word, const char* file, int line);

}  // namespace program
}  // namespace klab
