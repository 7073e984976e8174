// Training: learns a model from pixels, one step at a time, so that the caller decides when to stop. The
// content of a step is a program of ops (train_step.h); the place where it runs is a backend's business.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "harness/program/run_ops.h"
#include "labs/radiance/field/occupancy.h"
#include "labs/radiance/train/adaptive_table.h"
#include "labs/radiance/train/batch_share.h"
#include "labs/radiance/train/error_lists.h"
#include "labs/radiance/train/field_trainer.h"
#include "labs/radiance/train/learned_model.h"
#include "labs/radiance/train/picture_pool.h"
#include "labs/radiance/train/picture_turns.h"
#include "labs/radiance/train/shared_batch.h"
#include "labs/radiance/train/train_step.h"

namespace klab {

/// Returns the calls of one training step, for a plan, and those of a stretch of a picture
/// (TrainStep::picture).
std::vector<PlannedCall> training_calls(const Config& config, int cascades, const StepFormats& formats = {},
                                        int64_t stretch = kAdamStretch);
std::vector<PlannedCall> picture_calls(const Config& config, int cascades, Storage precision = Storage::f32);

class Trainer : public FieldTrainer {
 public:
  /// The scene must outlive the trainer, and so must `pool`, which holds the pictures that rays are drawn
  /// from; null: all pictures of the scene are in memory. Throws std::invalid_argument if the scene has no
  /// view to train on, std::bad_alloc or std::runtime_error if there is too little memory (see bytes_of).
  Trainer(const Scene& scene, const Config& config, const Plan& plan, uint64_t seed,
          Backend backend = cpu_backend(), const StepSizes& sizes = {}, PicturePool* pool = nullptr,
          BatchShare share = {}, const StepPrecision& precision = {});

  /// Times one of `runs` runs of a program op by op, if programs are recorded (see RunOps).
  void time_every(int64_t runs) { ops_->time_every(runs); }

  /// Makes one optimizer step. `progress` in [0,1] is the elapsed share of the run, for the learning-rate
  /// schedule. Throws NotFinite before a value that is not finite changes a parameter. With a loss scale such
  /// a step is skipped instead: no parameter, moment or average changes, and the scale backs off; it throws
  /// after LossScale::kMostSkipped such steps in a row.
  StepReport step(double progress) override;

  /// Computes the loss of the next step's batch with the present parameters, and adds its gradient to
  /// gradient(part). Updates neither parameters nor the occupancy grid. step() is this and the optimizer.
  StepReport loss_and_gradient();
  /// Computes the mean over all parts of the batch and all trainers that share it, and the sums of their rays
  /// and samples.
  StepReport shared_loss_and_gradient();
  Array<float>& gradient(Part part);

  void resize_batch(int64_t samples) override;
  int64_t batch_samples() const override { return config_.batch_samples * share_.parts; }
  double learning_rate() const override { return rate_; }
  const LossScale* loss_scale() const override { return loss_scale_ ? &*loss_scale_ : nullptr; }
  Lost lost() const override { return lost_; }
  /// Returns a tensor of the last step at its present size, by its name in the programs ("d_features"). Throws
  /// std::out_of_range for an unknown name.
  std::vector<float> tensor(const std::string& name) const;

  /// Adds a multiple of a direction to the parameters of a part.
  void move(Part part, const std::vector<float>& direction, double times);

  /// Takes over the numbers and the grid of a model of the same config, whose table is fixed, in place of the initial ones.
  void begin_from(const Model& model);
  /// Sets parameters to 0 where a model of the same config has 0. Averages keep what they have.
  void keep_zeros_of(const Model& model);

  /// Continues with other variants; the model stays.
  void use(const Plan& plan);

  /// Returns the PSNR of the last step's batch before the update, dB. With a plan that needs no colors it
  /// calls composite_fwd. Not available after restore() until the next step.
  double batch_psnr() override;

  int64_t steps_done() const override { return step_; }
  std::vector<std::span<const float>> parameters() const override;
  const Model& model() const;
  /// Returns the model for making pictures: averaged weights if the config asks for them.
  Model averaged() const;
  double occupied_share() const override;
  double unseen_share() const { return unseen_; }
  std::vector<LevelUse> level_uses() override;
  /// Returns the positions of the next step's samples, [3, samples] in [0, 1]. Updates nothing.
  std::vector<float> batch_positions();
  std::string table_news() override;
  Profile& profile() override { return profile_; }
  const HostCounts& host_counts() const override { return memory_->counts(); }

  void collect_state() override;
  /// Saves everything needed to resume: model, averages, moments, step counts, grid. `extra` is kept in the
  /// metadata.
  void save(const std::filesystem::path& file,
            const std::map<std::string, std::string>& extra) const override;
  /// Resumes from such a file. Throws std::runtime_error if it is damaged or of another config.
  void restore(const TensorFile& file) override;
  /// Returns the number of steps of such a file.
  static int64_t steps_in(const TensorFile& file);

  /// Returns the memory of a trainer; includes the pictures if the backend does not use them in the host's
  /// memory.
  static int64_t bytes_of(const Scene& scene, const Config& config, const StepSizes& sizes = {},
                          bool with_pictures = false, const StepFormats& formats = {});

 private:
  void build();
  void allocate();
  void write_occupied();
  ProgramRunner runner() { return {*memory_, *ops_, plan_, profile_}; }
  StepPart step_part() const;
  ViewData view_data() const;
  StepNumbers numbers() const;
  void update_grid();
  void share_grid();
  StepNumbers evaluate_batch(Profile& profile);
  std::vector<float> positions_of_batch();
  void optimize(double progress);
  std::string not_finite(const StepNumbers& after) const;
  bool take_step(const StepReport& report);
  void forget_gradients();
  void adapt_rays(const StepReport& report);
  void adapt_table();
  std::vector<TensorView> state() const;

  const Scene& scene_;
  Config config_;
  Plan plan_;
  uint64_t seed_;
  StepSizes sizes_;
  PictureTurns pictures_;
  Backend backend_;
  BatchShare share_;
  StepFormats formats_;
  std::optional<LossScale> loss_scale_;
  Lost lost_;  // gradients lost by rounding
  mutable Profile profile_;
  LearnedModel learned_;
  Occupancy occupancy_;
  double unseen_ = 0;
  SharedBatch shared_;  // by Part
  std::optional<AdaptiveTable> adaptive_;
  ErrorLists errors_;
  TableChange changes_;  // since the last table_news()
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<TrainStep> programs_;
  std::unique_ptr<RunOps> ops_;
  int64_t step_ = 0;
  int64_t rays_next_, drawn_ = 0,
                      whole_ = 0;  // rays of the next step; of the last one: drawn, and those that count
  bool colored_ = false;           // the batch has its colors
  int64_t part_ = 0;               // part of the batch whose rays are drawn next
  double rate_ = 0;
};

}  // namespace klab
