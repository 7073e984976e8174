// The results of a run: scores, the model and its pictures, and result.json, which has them all.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "labs/radiance/run/contact_sheet.h"
#include "labs/radiance/run/earlier_result.h"
#include "labs/radiance/run/run_context.h"
#include "labs/radiance/run/training_loop.h"

namespace klab {

class RunResult {
 public:
  /// The context must outlive it.
  explicit RunResult(RunContext& run) : run_(run) {}

  /// Notes the result that a resumed run's folder has.
  void keep(std::optional<EarlierResult> earlier) { earlier_ = std::move(earlier); }

  /// Reports the training.
  void report(FieldTrainer& trainer, const FieldModel& model, const TrainingLoop& loop, const RunRanks& ranks,
              const BatchRelief& relief);
  /// Counts a step on the host executor, if it is small enough and all its pictures are in memory.
  void count_a_step();
  /// Writes the model's file, after report().
  void save_model(const FieldModel& model);
  /// Scores the test views, on all ranks.
  void evaluate(FieldModel& model);
  /// Writes result.json, then pictures, which come after the result: a full disk must not cost it.
  void write();

 private:
  bool counts_a_step() const;
  void show_training_views(const FieldModel& model);
  void write_pictures();

  RunContext& run_;
  std::optional<EarlierResult> earlier_;
  std::filesystem::path model_file_;  // that was written
  nlohmann::json result_;
  std::optional<Score> score_;  // of this process's evaluation
  ContactSheet sheet_;          // of its pictures
};

}  // namespace klab
