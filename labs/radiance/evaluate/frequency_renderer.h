// Pictures of the classic field: evaluates both networks for every pixel.
#pragma once

#include "harness/program/carried_backend.h"
#include "harness/program/run_ops.h"
#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/train/frequency_passes.h"

namespace klab {

class FrequencyRenderer {
 public:
  /// The model must outlive it. `plan` is one of frequency_calls(); `config` is the model's, perhaps with a smaller chunk. Arrays
  /// stay in the host's memory on any backend.
  FrequencyRenderer(const FrequencyModel& model, Plan plan, const FrequencyConfig& config,
                    const Backend& backend = cpu_backend())
      : model_(model),
        plan_(std::move(plan)),
        passes_(config, model.placement),
        memory_(carried_backend(backend)) {
    passes_.multiply_pairs(multiplies_pairs(plan_));
  }
  FrequencyRenderer(const FrequencyModel& model, Plan plan)
      : FrequencyRenderer(model, std::move(plan), model.config) {}
  Picture render(const Camera& camera);
  const Profile& profile() const { return profile_; }

 private:
  const FrequencyModel& model_;
  Plan plan_;
  Profile profile_;
  FrequencyPasses passes_;
  Memory memory_;
  RunOps ops_{memory_};
};

}  // namespace klab
