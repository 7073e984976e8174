// Gaussians as one of the fields of klab train: a trainer that can be stopped and resumed, and a renderer.
#pragma once

#include <memory>
#include <string>

#include "harness/program/counted_bytes.h"
#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/splat/gaussian_model.h"
#include "labs/radiance/splat/trainer.h"
#include "labs/radiance/train/field_trainer.h"

namespace klab {

/// Returns how a config's Gaussians are drawn and trained.
Painting painting_of(const GaussianConfig& config);

/// Converts the config to the trainer's options.
SplatOptions splat_options(const GaussianConfig& config);

std::unique_ptr<FieldModel> field_model(GaussianModel model);

/// Returns the calls of a step at pictures of the usual size, for a plan.
std::vector<PlannedCall> gaussian_calls(const GaussianConfig& config);
/// Returns the bytes that training needs.
int64_t gaussian_bytes(const GaussianConfig& config, const Scene& scene);

class GaussianTrainer : public FieldTrainer {
 public:
  /// Arrays change their size with the set, so that they stay in the host's memory on any backend.
  GaussianTrainer(const Scene& scene, const GaussianConfig& config, const Plan& plan, uint64_t seed,
                  const Backend& backend = cpu_backend());

  StepReport step(double progress) override;
  double batch_psnr() override { return trainer_->last_psnr(); }
  double batch_loss(double) override { return trainer_->last_loss(); }
  int64_t steps_done() const override { return trainer_->steps_done(); }
  double learning_rate() const override { return trainer_->position_rate(); }
  double occupied_share() const override { return 1; }
  Profile& profile() override { return trainer_->painter().profile(); }
  const HostCounts& host_counts() const override { return counts_; }
  void save(const std::filesystem::path& file,
            const std::map<std::string, std::string>& extra) const override;
  void restore(const TensorFile& file) override;
  GaussianModel model() const;

 private:
  void count_memory();

  const Scene& scene_;
  GaussianConfig config_;
  Plan plan_;
  uint64_t seed_;
  Backend backend_;
  HostCounts counts_;
  std::unique_ptr<SplatTrainer> trainer_;
  CountedBytes counted_;  // of its arrays, which are not Arrays
};

}  // namespace klab
