// Block sizes of CUDA rungs that leave them open (kernels/common/block_size.h), found by trying.
//
//   on a GPU              whole steps of a training, timed in turn (race.h)
//   on the host executor  no times there mean anything: the least time that a named GPU needs for what is counted (bound.h); among
//                         sizes that are alike in it how many multiprocessors get a block; among those alike in that the share of
//                         a multiprocessor's warps that fit (occupancy)
//
// Which rungs leave it open is found, too: those whose launches have another block when another is asked for.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/program/plan.h"
#include "labs/radiance/tune/race.h"

namespace klab {

/// What was found for a rung.
struct BlockChoice {
  std::string variant;
  int usual = 0, threads = 0;  // of a block: as it is, and as it is to be
  double gain = 1;             // times as fast with it
  std::vector<Racer> sizes;    // what was tried; seconds are least times where nothing was timed
};

/// $KLAB_BLOCKS while it lives, with these beside what it said before.
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

/// "a=64,b=128", as $KLAB_BLOCKS has it.
std::string blocks_text(const std::map<std::string, int>& threads);

/// Of a plan's CUDA rungs those that leave their block open, by their calls: how many threads a block has now. Runs each of them on
/// the host executor; empty where it cannot.
std::map<std::string, int> open_blocks(const Plan& plan, const std::vector<PlannedCall>& calls);

/// By what is counted, for each of them.
std::vector<BlockChoice> blocks_by_counts(const Plan& plan, const std::vector<PlannedCall>& calls,
                                          const std::function<void(const std::string& variant)>& say);

/// By seconds: `pace` measures a unit of work with $KLAB_BLOCKS as it is then.
std::vector<BlockChoice> blocks_by_time(const Plan& plan, const std::vector<PlannedCall>& calls,
                                        const std::function<double(const std::string& variant)>& pace,
                                        const RaceOptions& options);

}  // namespace klab
