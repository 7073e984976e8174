// A training run from its options to its files: the object that run.h's train() creates and destroys. It prepares the run;
// what follows is done by the classes that it owns.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "labs/radiance/run/batch_relief.h"
#include "labs/radiance/run/run_context.h"
#include "labs/radiance/run/run_ranks.h"
#include "labs/radiance/run/run_result.h"
#include "labs/radiance/run/training_loop.h"

namespace klab {

class RunJob {
 public:
  RunJob(RunOptions options, CallTimes& times);
  RunJob(const RunJob&) = delete;
  RunJob& operator=(const RunJob&) = delete;
  ~RunJob();

  /// Runs everything and returns the exit code. If memory runs out, prints the account and names the
  /// checkpoint to resume from.
  int run();

 private:
  int go();
  void require_batch_limits();
  void limit_growth(const MemoryFacts& facts);
  void require_options_of_watching() const;
  void take_over();
  void choose_plan();
  void read_scene();
  MemoryFacts memory_facts() const;
  void plan_memory();
  void require_room_for_it(const MemoryFacts& facts) const;
  void open_folder();
  Plan plan_of_all();
  void open_pool();
  int64_t steps_before() const;
  void announce_grid() const;
  void announce_score(const FieldTrainer& trainer);
  std::unique_ptr<FieldTrainer> make_trainer();
  void with_resume_hint(const FieldTrainer& trainer, const std::function<void()>& work) const;

  RunContext run_;
  RunRanks ranks_;
  BatchRelief relief_;
  TrainingLoop loop_;
  RunResult result_;
  std::optional<TensorFile> checkpoint_;
  std::string scene_name_, where_;  // the latter of the plan
  VariantIds wanted_;
  std::vector<PlannedCall> calls_;
};

}  // namespace klab
