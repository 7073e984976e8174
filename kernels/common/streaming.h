// When outputs had better go around the caches.
#pragma once

#include <cstdint>

namespace klab {

/// Whether `all` floats, written in runs of `run` each, are better streamed: no cache keeps 16 MB and more
/// until they are read (one that does would be several times as fast as memory, so the limit is on the high
/// side), and few lines are shared by two runs, each of which would write its part of them apart.
constexpr bool worth_streaming(int64_t all, int64_t run) {
  return all >= int64_t{1} << 22 && (run >= 1024 || run % 16 == 0);
}

}  // namespace klab
