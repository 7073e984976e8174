// Times a ladder: every variant of it in one process, interleaved in random order, round after round.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/lab.h"
#include "harness/registry.h"

namespace klab {

struct BenchOptions {
  int rounds = 15;
  double sample_seconds = 0.02;  // each sample runs the variant for about this long, at least once
  double call_cap_seconds = 2.0;  // a variant whose single call takes longer is skipped, with that reason
  int threads = 0;                // 0: all
  uint64_t seed = 1;
  bool check = true;  // before and after timing; a variant that fails is not timed
  std::function<void(const std::string& what, int round, int rounds)> progress;
};

/// What was measured of one variant at one shape.
struct Series {
  std::string variant;
  std::string skipped;          // reason; then `seconds` is empty
  std::vector<double> seconds;  // a call, one entry a round; round i of all series ran within the same minute
  int64_t iterations = 0;       // calls a sample
};

/// One op at one size.
struct Ladder {
  std::string op;
  BenchShape shape;
  Cost cost;
  std::vector<Series> series;  // in ladder order
};

Ladder bench(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
             const BenchOptions& options);

}  // namespace klab
