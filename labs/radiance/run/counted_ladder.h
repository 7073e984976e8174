// The lab's ladder without a GPU: counts the same step on the host executor, with the naive CUDA plan first
// and then with one op after the other replaced by its last rung.
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

/// Returns the config of a training small enough to be watched; the result of interest is the cost of a
/// sample.
Config counted_config();

/// Runs the same step with every plan from `naive` to `best`, after `warm_steps` unwatched ones. Stops early
/// if `run.stop` says so.
std::vector<CountedRung> count_plans(const Scene& scene, const Config& config, const Plan& naive,
                                     const Plan& best, int warm_steps, const LabRun& run);

/// Lower bound for one step of a config by its ops' contracts alone: bytes, operations, and the least time
/// for them on a GPU.
struct ContractBound {
  double bytes = 0, flops = 0, seconds = 0;
};
ContractBound contract_bound(const Config& config, int cascades, const simt::GpuModel& gpu);

/// Counts and prints. Returns false if a plan's loss differs from the naive plan's, or an access is illegal.
bool run_counted_ladder(const LabRun& run);

}  // namespace klab
