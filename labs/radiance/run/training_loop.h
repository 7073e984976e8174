// The steps of a run: until time or steps are over, with metrics, checkpoints and less memory where it is short.
#pragma once

#include <omp.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "harness/report/table.h"
#include "labs/radiance/run/batch_relief.h"
#include "labs/radiance/run/levels.h"
#include "labs/radiance/run/metrics.h"
#include "labs/radiance/run/retries.h"
#include "labs/radiance/run/run_context.h"
#include "labs/radiance/run/run_ranks.h"
#include "labs/radiance/run/score_watch.h"
#include "labs/radiance/run/stage_ceilings.h"
#include "labs/radiance/run/stage_times.h"

namespace klab {

class TrainingLoop {
 public:
  /// All three must outlive it.
  TrainingLoop(RunContext& run, const RunRanks& ranks, BatchRelief& relief)
      : run_(run), ranks_(ranks), relief_(relief), watch_(run), retries_(run) {}

  /// Trains, and writes the last checkpoint. Throws NotFinite, OutOfMemory and what the backend throws.
  void train(FieldTrainer& trainer);

  int64_t first_step() const { return first_step_; }
  /// Returns the mean number of bytes that a rank sends to others in a step.
  double sent_per_step(const FieldTrainer& trainer) const;
  /// Returns the seconds that pictures took for those who watch.
  double viewing_took() const { return viewing_took_; }
  const StageCeilings& ceilings() const { return ceilings_; }
  const std::vector<LevelUse>& levels() const { return levels_; }
  const ScoreWatch& watch() const { return watch_; }
  const Retries& retries() const { return retries_; }

 private:
  struct Decision {  // made by the first rank for all
    double done = 0, end = 0, save = 0;
  };
  void begin_view(FieldTrainer& trainer);
  void begin_watch(FieldTrainer& trainer);
  void fit(FieldTrainer& trainer);
  Decision decide(int64_t steps_done, double last_checkpoint);
  MetricsLine line_of(FieldTrainer& trainer, const StepReport& report) const;
  void show(const MetricsLine& line, double last_report, Progress& progress) const;
  void sample_ceilings(FieldTrainer& trainer);
  void record_levels(FieldTrainer& trainer);
  void save(FieldTrainer& trainer) const;

  RunContext& run_;
  const RunRanks& ranks_;
  BatchRelief& relief_;
  ScoreWatch watch_;
  Retries retries_;
  const bool terminal_ = isatty(fileno(stderr)) != 0;
  std::optional<LevelsFile> levels_file_;
  std::optional<StageTimes> stage_times_;
  std::vector<LevelUse> levels_;  // last values
  double last_levels_ = 0;
  StepReport measured_;  // the last step whose gradient was measured
  StageCeilings ceilings_{omp_get_max_threads()};
  double ceilings_took_ = 0;           // seconds, not of training
  double viewing_took_ = 0;            // the same of pictures for those who watch
  int64_t first_step_ = 0, sent_ = 0;  // bytes to other ranks since that step
};

}  // namespace klab
