// Simulates a cache with least-recently-used replacement: how often is a requested line present?
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace klab {

/// Returns for each number of places in `capacities` the share of `lines`, requested in this order, that hit
/// in a fully associative LRU cache with that many places. Exact for all capacities in one pass, by the
/// number of different lines since the last use of the same one (R. L. Mattson et al., "Evaluation Techniques
/// for Storage Hierarchies", IBM Systems Journal 9(2), 1970). Takes time lines·log(lines).
std::vector<double> lru_hit_shares(std::span<const uint32_t> lines, std::span<const int64_t> capacities);

/// Counts of the processor for a piece of work.
struct CacheCounts {
  int64_t loads = 0, l1_misses = 0,
          last_misses = 0;  // of the calling thread; read misses of the first and the last cache
  std::string refused;      // why there are no counts; else empty
};

/// Runs `work` once, with counters if the system permits them (perf_event_open).
CacheCounts count_cache(const std::function<void()>& work);

}  // namespace klab
