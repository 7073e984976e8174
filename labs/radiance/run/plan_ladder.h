// The lab's ladder: the same training steps with the naive plan, then with one op after the other replaced by its best
// rung, in the order in which it pays most. Amdahl's law at work.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/program/plan_rungs.h"
#include "labs/radiance/train/trainer.h"

namespace klab {

struct PlanLadderOptions {
  int warm_steps =
      256;        // with the best plan, before the common starting point: the grid has learned what is empty
  int steps = 2;  // of every plan and round, from that point
  double seconds = 0.4;  // a plan whose steps take less goes on until then, for its time only
  int rounds = 5;
};

/// The common starting point of several plans, on disk as any checkpoint is, while it lives.
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

/// How far the losses of two plans may be apart: relative, at step k after the common point. Before the first update
/// only the rounding of single precision differs, over sums of some thousand terms; after it, Adam has turned the sign
/// of gradients that are zero but for rounding into whole steps.
double loss_bound(size_t step);

/// Trains and times all plans from `naive` to `best`, interleaved by rounds, from one checkpoint. Stops early, with whole rounds only, when
/// `run.stop` says so.
std::vector<PlanRung> measure_plans(const Scene& scene, const Config& config, const Plan& naive,
                                    const Plan& best, const PlanLadderOptions& options, const LabRun& run);

/// The largest relative difference of a rung's losses to the first rung's, over its bound: at most 1 when they agree.
double disagreement(const PlanRung& rung, const PlanRung& first);

/// Measures and prints. False when a plan's losses are not the naive plan's.
bool run_plan_ladder(const LabRun& run);

}  // namespace klab
