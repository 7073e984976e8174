// Bringing memory into the caches by reading it in order: the hardware's prefetcher follows, which it does not with
// prefetch instructions. Shared by the ladders of the hash encoding.
#pragma once

#include <cstdint>

namespace klab {

/// Reads one byte of every line of `bytes` bytes, by four walks side by side; up to four lines at the end may
/// be left out. Volatile, because the bytes read are not used.
inline void read_through(const void* memory, int64_t bytes) {
  constexpr int64_t kLine = 64, kWalks = 4;
  const auto* p = static_cast<const volatile char*>(memory);
  const int64_t part = bytes / kWalks / kLine * kLine;
  for (int64_t i = 0; i < part; i += kLine)
    for (int64_t walk = 0; walk < kWalks; ++walk) (void)p[walk * part + i];
}

}  // namespace klab
