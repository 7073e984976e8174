// How far apart threads are: the time that a cache line takes from one to another and back.
//
// Threads on one last-level cache pass a line on in about the time of a look into it. Threads on two dies or sockets go
// over the links between these, several times as far, but have two caches and two ways to memory. What the system says
// of shared caches is no proof: a virtual machine shows one cache to cores that may be anywhere, and moves them.
#pragma once

#include <span>
#include <string>

namespace klab {

/// Nanoseconds for a line from the first OpenMP thread to the farthest of the others and back, among as many threads as
/// omp_get_max_threads() says. 0 with one thread, and where one had to wait for a processor. Takes some microseconds a
/// thread.
double measure_core_to_core_ns();

/// Above this, in nanoseconds, cores are taken to have no last-level cache in common.
inline constexpr double kSharedCacheNs = 200;

/// A sentence when threads shared a last-level cache at some of these times and not at others, so that measurements in
/// between differ by more than scatter; else nothing. Zeros are times at which nothing could be told.
std::string moved_text(std::span<const double> core_to_core_ns);

}  // namespace klab
