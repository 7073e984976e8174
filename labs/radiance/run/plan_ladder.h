// The lab's ladder: times the same training steps with the naive plan, then with one op after the other
// replaced by its best rung, in the order of the largest gain. Shows Amdahl's law.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/program/plan_rungs.h"
#include "labs/radiance/train/trainer.h"

namespace klab {

struct PlanLadderOptions {
  // steps with the best plan before the common starting point: by then the grid knows the empty space
  int warm_steps = 256;
  int steps = 2;         // for every plan and round, from that point
  double seconds = 0.4;  // a faster plan continues until then, for its time only
  int rounds = 5;
};

/// The common starting point of several plans: a checkpoint on disk that is removed with this object.
class CheckpointFile {
 public:
  explicit CheckpointFile(const Trainer& trainer);
  ~CheckpointFile();
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  void restore(Trainer& trainer) const;

 private:
  std::filesystem::path file_;
};

/// Returns the largest relative difference allowed between the losses of two plans, at step k after the
/// common point. Before the first update only single-precision rounding differs, over sums of some thousand
/// terms. After it, Adam has turned the sign of gradients that are zero except for rounding into whole steps.
double loss_bound(size_t step);

/// Trains and times all plans from `naive` to `best`, interleaved by rounds, from one checkpoint. Stops early
/// if `run.stop` says so, and keeps only complete rounds. Without a stop it calls `trained` with the trainer after its last step.
std::vector<PlanRung> measure_plans(const Scene& scene, const Config& config, const Plan& naive,
                                    const Plan& best, const PlanLadderOptions& options, const LabRun& run,
                                    const std::function<void(const FieldTrainer&)>& trained = nullptr);

/// Returns the largest relative difference of a rung's losses to the first rung's, divided by its bound: at
/// most 1 if they agree.
double disagreement(const PlanRung& rung, const PlanRung& first);

/// Measures and prints. Returns false if a plan's losses differ from the naive plan's.
bool run_plan_ladder(const LabRun& run);

}  // namespace klab
