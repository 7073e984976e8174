// One step of the classic field: both passes over a batch of rays, their losses, and the gradients of both networks.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "harness/program/tensors.h"
#include "labs/radiance/train/frequency_passes.h"
#include "labs/radiance/train/views.h"

namespace klab {

class FrequencyStep {
 public:
  /// Rays of a batch and what they show: arrays [3,rays].
  struct Batch {
    const float *origins, *directions, *backdrop, *target;
    int64_t rays;
  };
  /// What a batch lost.
  struct Losses {
    double loss = 0, squares = 0;  // of both passes; squared errors of the last pass
    std::array<double, kLossTerms> terms{};
  };

  /// Declares the tensors of the loss's terms, which have to lie in the host's memory.
  FrequencyStep(Memory& memory, const FrequencyConfig& config, const Placement& placement);

  /// Computes the loss of a batch and adds its gradients to those of the two networks. Without draws, samples lie in the middle of
  /// their strata.
  Losses loss_and_gradient(Ops& ops, const FrequencyModel& model, const Batch& batch,
                           const std::optional<Draws>& draws, const std::array<float*, 2>& gradients);
  FrequencyPasses& passes() { return passes_; }

 private:
  void learn_from(Ops& ops, const FrequencyModel& model, const Batch& batch, const RaySpan& rays,
                  const std::optional<Draws>& draws, const std::array<float*, 2>& gradients, Losses& losses);
  void add_terms(Ops& ops, const FrequencyPasses::Pass& pass, int64_t rays, const std::vector<float>& behind,
                 std::vector<float>& d_raw, Losses& losses);

  FrequencyConfig config_;
  FrequencyPasses passes_;
  // One term's: the rays' opacity and its gradient, their weights and values, and what the term adds to the loss.
  Handle<float> opacity_, d_opacity_, weight_, value_, one_, loss_, own_loss_;
};

/// Returns the calls of a step, or of pictures, for a plan: what measuring them finds for as many rays as fit. Pictures of a model in
/// bf16 or int8 have products of bfloat16s and of floats, of which the faster are made (multiplies_pairs).
std::vector<PlannedCall> frequency_calls(const FrequencyConfig& config, bool training,
                                         Storage precision = Storage::f32);

}  // namespace klab
