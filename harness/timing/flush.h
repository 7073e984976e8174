// Eviction of chosen lines from all caches, for cold timing that takes no memory of a cache's size.
#pragma once

#include <cstdint>

namespace klab {

/// The most that copies of operands take by default so that each is cold when its turn comes. Caches that they cannot empty
/// are flushed.
inline constexpr int64_t kMostColdBytes = int64_t(256) << 20;

/// Returns whether this processor has an instruction that evicts a line from every cache and that a program may execute.
bool can_flush();

/// Evicts the lines of `bytes` bytes from `begin` on, on all OpenMP threads, and waits until it is done. Contents stay. Does
/// nothing where can_flush() is false.
void flush_from_caches(const void* begin, int64_t bytes);

}  // namespace klab
