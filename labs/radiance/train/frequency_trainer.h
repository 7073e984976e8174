// Trains a scene as the classic field. Slow: every sample of every ray goes through a deep network, twice.
#pragma once

#include <memory>

#include "harness/program/run_ops.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/train/batch_share.h"
#include "labs/radiance/train/field_trainer.h"
#include "labs/radiance/train/frequency_step.h"
#include "labs/radiance/train/ray_step.h"

namespace klab {

class FrequencyTrainer : public FieldTrainer {
 public:
  /// The scene must outlive the trainer. On any backend the networks' arrays stay in the host's memory, and the pictures lie in
  /// the backend's. Throws std::invalid_argument when the scene has no view to train on.
  FrequencyTrainer(const Scene& scene, const FrequencyConfig& config, const Plan& plan, uint64_t seed,
                   BatchShare share = {}, const Backend& backend = cpu_backend());

  StepReport step(double progress) override;
  double batch_psnr() override { return psnr_; }
  int64_t steps_done() const override { return step_; }
  double learning_rate() const override { return rate_; }
  double occupied_share() const override { return 1; }
  Profile& profile() override { return profile_; }
  const HostCounts& host_counts() const override { return memory_.counts(); }
  void save(const std::filesystem::path& file,
            const std::map<std::string, std::string>& extra) const override;
  void restore(const TensorFile& file) override;

  /// Computes the loss of the next step's batch, of both passes, and adds its gradient to gradient(). Updates
  /// nothing.
  double loss_and_gradient();
  /// Computes the same as the mean over all parts of the batch and all trainers that share it.
  double shared_loss_and_gradient();
  std::vector<std::span<const float>> parameters() const override;
  Array<float>& gradient(size_t network) { return moments_[network].gradient; }
  FrequencyModel& model() { return model_; }
  /// Takes over the numbers of a model of the same config in place of the initial ones.
  void begin_from(const FrequencyModel& model);
  const FrequencyModel& model() const { return model_; }

  static int64_t bytes_of(const FrequencyConfig& config);

 private:
  BatchShare share_;
  FrequencyConfig config_;  // of one part
  Plan plan_;
  uint64_t seed_;
  Profile profile_;
  FrequencyModel model_;
  std::array<OptimizerState, 2> moments_;
  // Rays of a step, drawn by the same op in all trainers.
  Memory memory_;
  RunOps ops_;
  // All else: arrays of the host.
  Memory arrays_;
  RunOps calls_;
  FrequencyStep learning_;
  ViewData view_data_;
  ViewTensors views_;
  Handle<int32_t> numbers_;
  DrawnRays rays_;
  std::array<Array<float>, 4> drawn_;  // [3,rays] each: origins, directions, backdrop, target
  int64_t step_ = 0;
  double psnr_ = 0, rate_ = 0;
  double squares_ = 0;  // mean squared error of the last part
  int64_t part_ = 0;    // part of the batch whose rays are drawn next
  PartSums sums_;
  std::array<double, kLossTerms> term_losses_{};  // of the last part
};

}  // namespace klab
