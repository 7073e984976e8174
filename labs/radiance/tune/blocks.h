// Searches for the block sizes of CUDA rungs that leave them open (kernels/common/block_size.h).
//
//   on a GPU              times whole training steps, in turn (race.h)
//   on the host executor  compares counts, because times there mean nothing: the least time that a named GPU needs
//                         for the counts (bound.h); if equal, how many multiprocessors get a block; if equal, the
//                         occupancy, which is the share of a multiprocessor's warps that fit
//
// It also finds out which rungs leave their block open: those whose launches change when another block is
// asked for.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/program/plan.h"
#include "labs/radiance/tune/race.h"

namespace klab {

/// Result of the search for a rung.
struct BlockChoice {
  std::string variant;
  int usual = 0, threads = 0;  // threads of a block: as it is, and as chosen
  double gain = 1;             // speedup
  std::vector<Racer> sizes;    // the sizes tried; seconds are least times if nothing was timed
};

/// Puts these sizes in front of $KLAB_BLOCKS while it lives.
class Blocks {
 public:
  explicit Blocks(const std::map<std::string, int>& threads);
  ~Blocks();
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

 private:
  std::string before_;
  bool there_;
};

/// Formats sizes for $KLAB_BLOCKS: "a=64,b=128".
std::string blocks_text(const std::map<std::string, int>& threads);

/// Returns the plan's CUDA rungs that leave their block open, with their present threads. Runs each of them
/// on the host executor; empty if it cannot.
std::map<std::string, int> open_blocks(const Plan& plan, const std::vector<PlannedCall>& calls);

/// Chooses a size for each of them by counts.
std::vector<BlockChoice> blocks_by_counts(const Plan& plan, const std::vector<PlannedCall>& calls,
                                          const std::function<void(const std::string& variant)>& say);

/// Chooses a size by time: `pace` measures a unit of work with the present $KLAB_BLOCKS.
std::vector<BlockChoice> blocks_by_time(const Plan& plan, const std::vector<PlannedCall>& calls,
                                        const std::function<double(const std::string& variant)>& pace,
                                        const RaceOptions& options);

}  // namespace klab
