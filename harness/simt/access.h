// How memory is accessed, for the functions that watch accesses.
#pragma once

#include <cstdint>

namespace klab::simt {

/// kMerges: an atomic that the compiler executes in one lane of a warp when all lanes use one address.
/// kDecides: an atomic whose result decides (compare and swap, minimum, ...), so that an earlier plain read of
/// the word was only a hint. kStrong: a load or store that is atomic, rather than volatile.
enum Access : uint8_t {
  kRead = 0,
  kWrite = 1,
  kAtomic = 2,
  kVolatile = 4,
  kAsync = 8,
  kMerges = 16,
  kDecides = 32,
  kStrong = 64
};

}  // namespace klab::simt
