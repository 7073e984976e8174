// A cache that keeps what was used last, in numbers only: how often would what is asked for be there?
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace klab {

/// For each number of places in `capacities` the share of `lines` (asked for in this order) that a fully associative cache of so
/// many places, which lets go of what was used longest ago, has when it is asked. Exact for all capacities in one pass, by the number
/// of different lines since the last use of the same one (R. L. Mattson et al., "Evaluation Techniques for Storage Hierarchies",
/// IBM Systems Journal 9(2), 1970). Time lines·log(lines).
std::vector<double> lru_hit_shares(std::span<const uint32_t> lines, std::span<const int64_t> capacities);

/// What the processor's counters say of a piece of work.
struct CacheCounts {
  int64_t loads = 0, l1_misses = 0,
          last_misses = 0;  // of the calling thread; misses of reads, by the first and the last cache
  std::string refused;      // why there are none; else empty
};

/// Runs `work` once, counted where the system permits it (perf_event_open).
CacheCounts count_cache(const std::function<void()>& work);

}  // namespace klab
