// Models the time that ranks need to share a gradient. A message takes latency + bytes/bandwidth (the
// alpha-beta model: Hockney, "The communication challenge for MPP", 1994). The counts of the algorithms are
// those of Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
// 2005.
#pragma once

#include <cstdint>
#include <string>

#include "labs/radiance/ranks/exchange.h"

namespace klab::scaling {

/// Between two ranks.
struct Link {
  double latency = 0;    // seconds of an empty message
  double bandwidth = 1;  // bytes per second of a long message
};

/// Algorithm of an all-reduce.
enum class Algorithm {
  ring,                // 2·(N-1) messages of one part: the bytes sent hardly grow with N
  recursive_doubling,  // log2 N messages of the whole array: few messages, for short arrays
};

/// The arrays that a step shares.
struct Gradient {
  double bytes = 0;    // of the table, the networks, and the grid's values as far as they travel in a step
  double touched = 1;  // share of its blocks that one rank's samples touch
  double alike = 0;    // 0: ranks touch independent blocks; 1: the same ones
  double block = 64;   // bytes of a block
  /// Share of the blocks that any rank touches: 1 - (1 - touched)^(1 + (N-1)·(1 - alike)).
  double touched_by_any(int64_t ranks) const;
};

/// Returns the bytes that a rank sends to others.
double bytes_sent(Exchange::Way way, int64_t ranks, const Gradient& gradient);
/// Returns seconds. Dense: those of the better algorithm; else those of one message to and one from each
/// other rank.
double seconds_to_share(Exchange::Way way, int64_t ranks, const Gradient& gradient, const Link& link);
double seconds_to_reduce(Algorithm algorithm, int64_t ranks, double bytes, const Link& link);

/// A step of one rank.
struct Step {
  double fixed = 0;       // seconds that do not shrink with the batch, without the next two
  double grid = 0;        // seconds for the occupancy grid; ranks always divide them
  double optimizer = 0;   // seconds of the table's optimizer; ranks that own parts divide them
  double per_sample = 0;  // seconds
};

/// Returns the seconds of a step of `ranks` ranks with `samples` each.
double seconds_of_step(Exchange::Way way, int64_t ranks, double samples, const Step& step,
                       const Gradient& gradient, const Link& link);

/// Computes the link from the times of messages of `small` and `large` bytes. If the longer one took no
/// longer, returns the least bandwidth that it shows. Throws std::invalid_argument for times that are not
/// positive.
Link link_from(double small, double small_seconds, double large, double large_seconds);

}  // namespace klab::scaling
