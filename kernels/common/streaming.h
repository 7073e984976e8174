// When outputs had better go around the caches.
#pragma once

#include <cstdint>

namespace klab {

/// Whether `all` floats, written in runs of `run` each, are better streamed: no cache would keep them, and few lines are
/// shared by two runs, each of which would write its part of them apart.
constexpr bool worth_streaming(int64_t all, int64_t run) {
  return all >= int64_t{1} << 20 && (run >= 1024 || run % 16 == 0);
}

}  // namespace klab
