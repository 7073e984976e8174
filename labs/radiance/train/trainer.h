// Training: pixels in, a model out. One step at a time, so that whoever owns the clock decides when to stop. What a step
// does is data (step.h); where it runs is a backend's business (runner.h).
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include "labs/radiance/field/occupancy.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/train/picture_pool.h"
#include "labs/radiance/train/runner.h"
#include "labs/radiance/train/step.h"

namespace klab {

struct StepReport {
  int64_t step = 0;  // steps done, this one included
  double loss = 0;   // of step.h
  int64_t rays = 0;
  int64_t samples = 0;  // with a gradient, through the whole step
  int64_t marched = 0;  // before the samples behind opaque ones were left out
};

/// A loss, gradient or parameter that is no longer finite. The message names step and tensor.
class NotFinite : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The calls of one training step, for a plan, and those of a stretch of a picture (TrainStep::picture).
std::vector<PlannedCall> training_calls(const Config& config, int cascades);
std::vector<PlannedCall> picture_calls(const Config& config, int cascades);

/// How a batch is cut into parts of as many samples each, whose rays are drawn apart. A trainer computes its own parts one after
/// the other; the step goes by the mean of all parts' gradients. So one process with four parts and four with one each make the
/// same step, up to the order of sums.
struct BatchShare {
  int64_t parts = 1, first = 0, own = 1;  // of this trainer: `own` of them, from `first` on
  /// Adds up over all trainers, in place: the gradients by Part, and a few numbers. Empty: there is no other.
  std::function<void(const std::array<std::span<float>, 3>& gradients, std::span<double> numbers)> sum;
};

class Trainer {
 public:
  /// The scene must outlive the trainer, and so must `pool`, where the pictures are that rays are drawn from; null: all of the
  /// scene's are in memory. Throws std::invalid_argument when the scene has no view to train on, std::bad_alloc or
  /// std::runtime_error when the memory it will take (see bytes_of) is not there.
  Trainer(const Scene& scene, const Config& config, const Plan& plan, uint64_t seed,
          Backend backend = cpu_backend(), const StepSizes& sizes = {}, PicturePool* pool = nullptr,
          BatchShare share = {});

  /// One optimizer step. `progress` in [0,1] is how far the run is, for the learning-rate schedule. Throws
  /// NotFinite before a parameter is touched by what is not finite.
  StepReport step(double progress);

  /// The loss of the batch that belongs to the next step, shaded with the parameters as they are, and its gradient,
  /// added to gradient(part). Moves no parameter and not the occupancy grid. step() is this and the optimizer.
  StepReport loss_and_gradient();
  /// The same of all parts of the batch, over all trainers that share it: their mean, and rays and samples of all together.
  StepReport shared_loss_and_gradient();
  Array<float>& gradient(Part part);

  /// Steps from one turn of the pool's pictures to the next.
  static constexpr int64_t kTurnEvery = 8;

  /// A batch of so many samples from now on. Gradients that a step has left half-way are forgotten. Where that throws
  /// std::bad_alloc nothing but another call of it, or the end, is allowed: parameters and moments are whole.
  void resize_batch(int64_t samples);
  int64_t batch_samples() const { return config_.batch_samples * share_.parts; }
  /// Of the last step: of the table, and of the networks.
  double learning_rate() const { return rate_; }

  /// Adds so many times a direction to the parameters of a part.
  void move(Part part, const std::vector<float>& direction, double times);

  /// Goes on with other variants; the model stays.
  void use(const Plan& plan);

  /// PSNR of the pixels of the last step's batch as they were before the update, dB. With a plan that needs no colors it takes
  /// a composite_fwd. Not after restore(), until there was a step.
  double batch_psnr();

  int64_t steps_done() const { return step_; }
  const Model& model() const;
  /// The model to look at pictures with: averaged weights when the config asks for them.
  Model averaged() const;
  double occupied_share() const;
  double unseen_share() const { return unseen_; }
  Profile& profile() { return profile_; }
  const Profile& profile() const { return profile_; }
  const TrainStep& lists() const { return lists_; }
  const Runner::Counts& host_counts() const { return runner_->counts(); }

  /// Everything needed to go on: model, averages, moments, step counts, grid. `extra` is kept in the
  /// metadata.
  void save(const std::filesystem::path& file, const std::map<std::string, std::string>& extra) const;
  /// Goes on from such a file. Throws std::runtime_error when it is damaged or of another config.
  void restore(const TensorFile& file);
  /// The steps of such a file.
  static int64_t steps_in(const TensorFile& file);

  /// Memory that a trainer takes; with the pictures where the backend does not use them in the host's memory.
  static int64_t bytes_of(const Scene& scene, const Config& config, const StepSizes& sizes = {},
                          bool with_pictures = false);

 private:
  static TrainStep::Data data_of(const Scene& scene, const PicturePool* pool);
  void tie_memory();
  void load_views();
  void write_views(const uint8_t* first, const float* first_depth);
  void take_turns();
  void sum_gradients(std::span<double> numbers);
  StepNumbers numbers() const;
  void update_grid();
  void optimize(double progress);
  void require_finite(const StepNumbers& after) const;
  void adapt_rays(const StepReport& report);
  std::vector<TensorView> state() const;

  const Scene& scene_;
  Config config_;
  Plan plan_;
  uint64_t seed_;
  StepSizes sizes_;
  PicturePool* pool_;
  Backend backend_;
  mutable Profile profile_;
  Model model_;
  Occupancy occupancy_;
  double unseen_ = 0;
  std::array<OptimizerState, 3> moments_;  // by Part
  std::array<Array<float>, 3> averages_;   // by Part; empty without averaging
  TrainStep lists_;
  OpList loss_;
  std::unique_ptr<Runner> runner_;
  int64_t step_ = 0;
  int64_t rays_next_, drawn_ = 0,
                      whole_ = 0;  // rays: of the next step; of the last one, drawn and such as count
  bool colored_ = false;           // the batch has its colors
  double rate_ = 0;
  BatchShare share_;
  int64_t part_ = 0;            // of the batch, whose rays are drawn next
  double averaged_weight_ = 0;  // sum of the average's weights, for debiasing
};

}  // namespace klab
