// Times a ladder: every variant of it in one process, interleaved in random order, round after round.
//
// Each round yields the time of every variant and of the ceiling, so that ratios can be taken within a round:
// what the machine does to one it does to all. Google Benchmark runs the timing loop; how many iterations a
// sample has is decided here, once a variant, under a cap on real time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/registry.h"

namespace klab {

struct BenchOptions {
  int rounds = 15;
  int fewest_rounds = 5;          // of those asked for, however long they take
  double sample_seconds = 0.02;   // each sample runs the variant for about this long, at least once
  double call_cap_seconds = 2.0;  // a variant whose single call takes longer is skipped, with that reason
  double ladder_seconds = 60;     // fewer rounds when all would take longer
  int threads = 0;                // 0: all
  uint64_t seed = 1;
  bool check = true;  // values before and after timing; a variant that fails is not timed
  double tries =
      1;  // share of the time that is spent after timing on catching results that are kept from call to
          // call; below 1, one input of a variant is exchanged, by chance, in place of each
  bool full_check =
      false;  // before timing, too, all that `klab check` tries: see full_check(). Programs that time
              // what they have just checked, and tests, do without
  double check_work =
      1e300;  // FLOP and bytes: a larger shape is checked at a smaller one, halved until it is below
  int cold_caches = 4;  // how many last-level caches the other copies of cold operands fill together
  std::optional<int64_t> cold_bytes;  // which these may take; see BenchInputs
  std::function<void(const std::string& what, int round, int rounds)> progress;
  std::function<double()>
      now;  // seconds of a clock that takes the place of the machine's, for tests of what follows
  std::function<bool()> stop;  // asked between samples; true ends the ladder after the last full round
};

/// What was measured of one variant at one shape.
struct Series {
  std::string variant;
  std::string skipped;          // reason; then `seconds` is empty
  std::string wrong;            // the check it failed, before or after timing; then `seconds` is empty
  std::vector<double> seconds;  // a call, one entry a round; entry i of all series ran in the same round
  std::vector<double> waited;   // share of each round that threads waited for a processor; empty: not told
  int64_t iterations = 0;       // calls a sample
  std::optional<double> worst_error;  // of the check before timing, over its bound; empty when none was made
};

/// The least time that a call spends with one resource of the machine.
struct Resource {
  std::string ceiling;  // "transcendental f32"
  double seconds = 0;   // work over what the ceiling was before the first round
  friend bool operator==(const Resource&, const Resource&) = default;
};

/// One op at one size.
struct Ladder {
  std::string op;
  BenchShape shape;
  Cost cost;
  std::vector<Series> series;  // in ladder order
  int threads = 0;
  std::string cache;                // what was done: "hot", or "cold: 5 copies of 28 MB"
  std::string gave_up;              // of cold operands, where memory was too short; see BenchInputs
  std::vector<Resource> resources;  // all that the op needs, the one that binds first
  std::string ceiling;              // of that one: "copy memory"; empty when the op's traffic is unknown
  std::string ceiling_method;       // "streaming stores"
  std::vector<double> ceiling_per_second;  // one entry a round, as for the series
  double ceiling_work = 0;                 // of one call, in the unit of the ceiling: FLOP, values or bytes
  double others = 0;                       // hardware threads that other work kept busy during the rounds
  std::vector<double> core_to_core_ns;     // one entry a round: measure_core_to_core_ns()
  bool complete = true;                    // false when stopped
};

/// Throws std::invalid_argument when the shape is not legal for the op or its tensors exceed the free memory.
Ladder bench(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
             const BenchOptions& options);

}  // namespace klab
