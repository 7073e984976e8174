// Goes back to the last checkpoint after a step that is not finite, with half the learning rates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labs/radiance/run/run_context.h"

namespace klab {

class Retries {
 public:
  /// The context must outlive it.
  explicit Retries(RunContext& run) : run_(run) {}

  /// Goes back. Throws the error if the run is not to do that, or has done it as often as it may.
  void retry(FieldTrainer& trainer, const NotFinite& error);
  /// Counts a step that was finite: after enough of them the learning rates are on their schedule again.
  void count_finite_step(FieldTrainer& trainer);
  /// Describes each return to a checkpoint.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  RunContext& run_;
  int64_t retries_ = 0, finite_steps_ = 0;  // the latter since the last retry
  std::vector<std::string> texts_;
};

/// Returns what a user can do about a step that is not finite.
std::string remedy_of_not_finite(const RunContext& run);

/// Names the first view that holds a camera or a depth that is not finite; empty if there is none.
std::string odd_view(const std::vector<View>& views);

}  // namespace klab
