// Learns a scene as voxels: coarse to fine, and only where something is.
#pragma once

#include <memory>
#include <optional>

#include "harness/program/run_ops.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/train/field_trainer.h"
#include "labs/radiance/train/shared_batch.h"
#include "labs/radiance/train/voxel_step.h"

namespace klab {

class VoxelTrainer : public FieldTrainer {
 public:
  /// The scene must outlive the trainer. Throws std::invalid_argument when it has no view to train on.
  VoxelTrainer(const Scene& scene, const VoxelConfig& config, const Plan& plan, uint64_t seed,
               const Backend& backend = cpu_backend(), const StepSizes& sizes = {}, BatchShare share = {});

  StepReport step(double progress) override;
  double batch_psnr() override;
  int64_t steps_done() const override { return step_; }
  double learning_rate() const override { return rate_; }  // of the densities
  double occupied_share() const override;
  Profile& profile() override { return profile_; }
  const HostCounts& host_counts() const override { return memory_->counts(); }
  void save(const std::filesystem::path& file,
            const std::map<std::string, std::string>& extra) const override;
  void restore(const TensorFile& file) override;
  void collect_state() override;

  /// The loss of the batch that belongs to the next step and its gradient, added to gradient(). Moves nothing.
  StepReport loss_and_gradient();
  /// The same of all parts of the batch, over all trainers that share it: their mean, and rays and samples of all together.
  StepReport shared_loss_and_gradient();
  std::vector<std::span<const float>> parameters() const override;
  Array<float>& gradient(VoxelStep::Table table);
  const VoxelModel& model() const;
  /// Number of the planned changes of the grid that have been made.
  int64_t changes_done() const { return changes_; }

 private:
  /// A change of the grid: when, by progress, and whether it gets finer.
  struct Change {
    double at;
    int64_t factor;
  };
  std::vector<Change> planned_changes() const;
  void build();
  std::vector<uint8_t> seen_rows() const;
  bool change(int64_t factor);  // whether it was made
  StepNumbers numbers() const;
  void optimize(double progress);

  const Scene& scene_;
  VoxelConfig config_;
  Plan plan_;
  uint64_t seed_;
  Backend backend_;
  StepSizes sizes_;
  BatchShare share_;
  mutable Profile profile_;
  VoxelModel model_;
  std::array<OptimizerState, 2> moments_;  // by VoxelStep::Table
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<VoxelStep> programs_;
  std::unique_ptr<RunOps> ops_;
  int64_t step_ = 0, changes_ = 0;
  int64_t rays_next_, drawn_ = 0, whole_ = 0;
  bool colored_ = false;
  double rate_ = 0;
  int64_t part_ = 0;  // of the batch, whose rays are drawn next
  SharedBatch shared_;
};

}  // namespace klab
