// What it costs ranks to share a gradient, on paper: a message takes latency + bytes/bandwidth (the alpha-beta model: Hockney, "The
// communication challenge for MPP", 1994; Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
// MPICH", 2005, whose counts of the algorithms these are).
#pragma once

#include <cstdint>
#include <string>

#include "labs/radiance/ranks/exchange.h"

namespace klab::scaling {

/// Between two ranks.
struct Link {
  double latency = 0;    // seconds that a message of no length takes
  double bandwidth = 1;  // bytes a second of a long one
};

/// How an all-reduce goes.
enum class Algorithm {
  ring,                // 2·(N-1) messages of a part each: what is sent does not grow with N
  recursive_doubling,  // log2 N messages of all of it: few messages, for short arrays
};

/// What is shared in a step.
struct Gradient {
  double bytes = 0;  // of the table, with the networks, and the grid's values as far as they travel in a step
  double touched = 1;  // share of its blocks that one rank's samples touch
  double alike = 0;    // 0: others touch other blocks; 1: the same
  double block = 64;   // bytes of one
  /// Share of the blocks that any of so many ranks touches: 1 - (1 - touched)^(1 + (N-1)·(1 - alike)).
  double touched_by_any(int64_t ranks) const;
};

/// Bytes that a rank sends to others.
double bytes_sent(Exchange::Way way, int64_t ranks, const Gradient& gradient);
/// Seconds; the better of the algorithms where the way is dense, parts to each and back in the others.
double seconds_to_share(Exchange::Way way, int64_t ranks, const Gradient& gradient, const Link& link);
double seconds_to_reduce(Algorithm algorithm, int64_t ranks, double bytes, const Link& link);

/// A step of one rank.
struct Step {
  double fixed = 0;  // seconds that do not shrink with the batch, without the next two
  double grid = 0;   // seconds of looks at the occupancy grid, of which a rank takes its part in every way
  double optimizer = 0;   // seconds of the table's optimizer, of which a rank that owns a part does its part
  double per_sample = 0;  // seconds
};

/// Seconds of a step of so many ranks with `samples` each.
double seconds_of_step(Exchange::Way way, int64_t ranks, double samples, const Step& step,
                       const Gradient& gradient, const Link& link);

/// The link from times of messages of `small` and `large` bytes; where the longer one took no longer, the least bandwidth that it
/// shows. Throws std::invalid_argument for times that are none.
Link link_from(double small, double small_seconds, double large, double large_seconds);

}  // namespace klab::scaling
