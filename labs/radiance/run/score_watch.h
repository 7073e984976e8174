// Scores unseen views while a run trains, and what follows from scores without a gain.
#pragma once

#include <optional>
#include <string>

#include "labs/radiance/run/run_context.h"
#include "labs/radiance/run/validation.h"

namespace klab {

class ScoreWatch {
 public:
  /// The context must outlive it.
  explicit ScoreWatch(RunContext& run) : run_(run) {}

  /// Starts, if the run is to be watched.
  void begin(const FieldTrainer& trainer);
  /// Scores the views if that is due. Its time is not training time; Validation keeps it below its share.
  void validate(FieldTrainer& trainer);
  /// Returns the last score once, for the next line of metrics.
  std::optional<ValidationPoint> take_last() { return validation_ ? validation_->take_last() : std::nullopt; }
  const std::optional<Validation>& validation() const { return validation_; }
  /// Says why the run is to end early; empty: it is not.
  const std::string& ended_early() const { return ended_early_; }

 private:
  void follow_score(FieldTrainer& trainer, double psnr);

  RunContext& run_;
  std::optional<Validation> validation_;
  Plateau plateau_;
  std::string ended_early_;
};

}  // namespace klab
