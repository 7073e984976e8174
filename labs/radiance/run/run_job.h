// A training run from its options to its files: the object that run.h's train() creates and destroys. Its
// parts are the preparation (run.cpp) and the training with its results (run_fit.cpp).
#pragma once

#include <omp.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/gpu/gpu.h"
#include "harness/report/table.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/ranks/device_ranks.h"
#include "labs/radiance/ranks/exchange.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/run/budget.h"
#include "labs/radiance/run/contact_sheet.h"
#include "labs/radiance/run/earlier_result.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/levels.h"
#include "labs/radiance/run/metrics.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/score_scope.h"
#include "labs/radiance/run/shortage.h"
#include "labs/radiance/run/stage_ceilings.h"
#include "labs/radiance/run/stage_times.h"
#include "labs/radiance/run/state.h"
#include "labs/radiance/run/validation.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/picture_pool.h"

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
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  int go();
  void take_over();
  void choose_plan();
  void read_scene();
  MemoryFacts memory_facts() const;
  void plan_memory();
  void take_first_ranks_choice();
  void require_room_for_it(const MemoryFacts& facts) const;
  void require_what_several_can() const;
  void require_what_watching_can() const;
  int64_t parts() const { return o_.parts.value_or(ranks_.size()); }
  void require_alike_ranks();
  void open_folder();
  Plan plan_of_all();
  void name_what_is_left(const std::filesystem::path& folder);
  void open_pool();
  void announce_grid() const;
  void announce_score(const FieldTrainer& trainer, const Plan& plan);
  std::unique_ptr<FieldTrainer> make_trainer(const Plan& plan);
  void connect(BatchShare& share);
  void connect_gpus(BatchShare& share);

  void fit(FieldTrainer& trainer);
  struct Decision {  // made by the first rank for all
    double done = 0, end = 0, save = 0;
  };
  Decision decide(int64_t steps_done, double last_checkpoint);
  void or_say_what_is_left(const FieldTrainer& trainer, const std::function<void()>& work) const;
  MetricsLine line_of(FieldTrainer& trainer, const StepReport& report) const;
  void show(const MetricsLine& line, double last_report, Progress& progress) const;
  void sample_ceilings(FieldTrainer& trainer);
  void relieve(FieldTrainer& trainer);
  void resize(FieldTrainer& trainer, int64_t samples);
  void record_levels(FieldTrainer& trainer);
  void begin_watch(FieldTrainer& trainer);
  void begin_view(FieldTrainer& trainer);
  PictureMaker picture_maker(const FieldModel& model);
  void validate(FieldTrainer& trainer);
  void follow_score(FieldTrainer& trainer, double psnr);
  void set_rates(FieldTrainer& trainer) { trainer.scale_rates(rate_factor_ * state_.plateau_factor); }
  void retry(FieldTrainer& trainer, const NotFinite& error);
  void count_finite_step(FieldTrainer& trainer);
  std::string remedy_of_not_finite() const;
  void save(FieldTrainer& trainer);
  void require_same_parameters(const FieldTrainer& trainer);
  Exchange::Touched touched() const;
  double sent_per_step(const FieldTrainer& trainer) const;
  void report(FieldTrainer& trainer, const FieldModel& model);
  bool counts_a_step() const;
  void count_a_step(const Plan& plan);
  BackendChoice place_of_pictures() const;
  std::optional<Plan> plan_of_pictures(const Plan& plan) const;
  void evaluate_on_tests(FieldModel& model, const Plan& plan);
  void show_training_views(const FieldModel& model, const Plan& plan);
  void save_model(const FieldModel& model, int64_t steps);
  void write_result();
  void write_pictures();
  std::string left() const;
  double elapsed() const { return state_before_ + trained_here(); }
  double trained_here() const { return since(begin_) - aside_; }

  Ranks& ranks_ = Ranks::here();
  RunOptions o_;
  CallTimes& times_;
  FILE* words_;  // null device on all ranks except the first
  const BackendChoice place_;
  const OnGpu on_a_gpu_;  // checks which rungs are supported
  const bool terminal_ = isatty(fileno(stderr)) != 0;
  std::optional<RunFolder> folder_;
  std::optional<EarlierResult> earlier_;
  std::filesystem::path model_file_;  // that was written
  std::optional<LevelsFile> levels_file_;
  std::optional<StageTimes> stage_times_;
  std::vector<LevelUse> levels_;  // last values
  double last_levels_ = 0;
  std::optional<TensorFile> checkpoint_;
  RunState state_;
  std::string scene_name_, where_, cache_;
  VariantIds wanted_;
  Scene scene_;
  ScoreScope scope_;
  std::vector<PlannedCall> calls_;
  MemoryBudget budget_;
  MemoryPlan memory_;
  std::optional<PicturePool> pool_;
  std::vector<Exchange> tables_;  // exchange the gradients of tables between ranks
  std::unique_ptr<DeviceRanks> device_ranks_;
  std::optional<Exchange> whole_;  // exchanges those of parameters that move as a whole
  Shortage shortage_{[](const std::string& text) { std::fprintf(stderr, "note      %s\n", text.c_str()); }};
  Pressure pressure_{o_.pressure};
  int64_t batches_shrunk_ = 0, batches_grown_ = 0;  // for lack of memory, and back
  std::optional<Plan> plan_;
  std::optional<Validation> validation_;
  Plateau plateau_;
  std::string ended_early_;                 // why; empty: it did not
  double rate_factor_ = 1;                  // on the learning rates, after steps that were not finite
  int64_t retries_ = 0, finite_steps_ = 0;  // the latter since the last retry
  std::vector<std::string> result_tries_;
  StepReport measured_;  // the last step whose gradient was measured
  StageCeilings ceilings_{omp_get_max_threads()};
  Clock::time_point begin_ = Clock::now();
  double state_before_ = 0;            // seconds of training before this process
  double aside_ = 0, seconds_ = 0;     // time not spent on training; training time at the end
  double ceilings_took_ = 0;           // seconds of aside_ spent on ceilings
  double viewing_took_ = 0;            // and on pictures for those who watch
  int64_t first_step_ = 0, sent_ = 0;  // bytes to other ranks since that step
  nlohmann::json result_;
  std::optional<Score> score_;  // of this process's evaluation
  ContactSheet sheet_;          // of its pictures
};

}  // namespace klab
