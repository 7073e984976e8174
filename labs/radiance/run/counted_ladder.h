// The lab's ladder without a GPU: the same step with the naive CUDA plan, then with one op after the other replaced by its
// last rung, run on the host executor and counted.
#pragma once

#include "harness/core/lab.h"
#include "labs/radiance/train/counting.h"
#include "labs/radiance/train/trainer.h"

namespace klab {

struct CountedRung {
  std::string name;
  Plan plan;
  StepCounts counts;
  double loss = 0;
};

/// A training small enough to be watched: what counts is what a sample costs.
Config counted_config();

/// Every plan from `naive` to `best` takes the same step, after `warm_steps` unwatched ones. Stops early when `run.stop` says
/// so.
std::vector<CountedRung> count_plans(const Scene& scene, const Config& config, const Plan& naive,
                                     const Plan& best, int warm_steps, const LabRun& run);

/// The least that one step of a config moves and computes, by its ops' contracts alone, and the least time for that on a GPU.
struct ContractBound {
  double bytes = 0, flops = 0, seconds = 0;
};
ContractBound contract_bound(const Config& config, int cascades, const simt::GpuModel& gpu);

/// Counts and prints. False when a plan's loss is not the naive plan's, or an access is illegal.
bool run_counted_ladder(const LabRun& run);

}  // namespace klab
