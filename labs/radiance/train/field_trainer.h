// Interface of a trainer for a training run, for any kind of field.
#pragma once

#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/program/loss_scale.h"
#include "harness/program/profile.h"
#include "harness/program/tensors.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/loss/terms.h"
#include "labs/radiance/train/level_use.h"
#include "reference/rounding.h"

namespace klab {

struct StepReport {
  int64_t step = 0;  // steps done, this one included
  double loss = 0;   // of step.h
  int64_t rays = 0;
  int64_t samples = 0;  // with a gradient, through the whole step
  int64_t marched = 0;  // before the samples behind opaque ones were left out
  bool finite = true;   // loss and gradients; if not, a loss scale has left the step out
  // Weighted values of the loss's terms, in the order of their list; the rest of the loss is that of the pixels.
  std::array<double, kLossTerms> terms{};
  // Length of the gradient before and after clipping; NaN if the step did not measure it.
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();
  double clipped_norm = std::numeric_limits<double>::quiet_NaN();
  // What weight decay adds to what is minimized, but not to the loss; measured with the gradient.
  double decay = 0;
};

/// A loss, gradient or parameter that is no longer finite. The message names step and tensor.
class NotFinite : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Learns a field from pixels, one step at a time, so that the caller decides when to stop.
class FieldTrainer {
 public:
  virtual ~FieldTrainer() = default;

  /// Makes one optimizer step. `progress` in [0,1] is the elapsed share of the run, for schedules. Throws
  /// NotFinite before a value that is not finite changes a parameter.
  virtual StepReport step(double progress) = 0;
  /// Returns the PSNR of the last step's batch before the update, dB.
  virtual double batch_psnr() = 0;
  /// Returns the loss of the last step's batch, if the step did not compute it; `of_step` is the report's
  /// value.
  virtual double batch_loss(double of_step) { return of_step; }
  virtual int64_t steps_done() const = 0;
  /// Share of the volume that is not known to be empty; 1 if nothing is known.
  virtual double occupied_share() const = 0;
  virtual Profile& profile() = 0;
  virtual const HostCounts& host_counts() const = 0;
  /// Learning rate of the last step for the parameters that hold the scene; NaN if there is more than one.
  virtual double learning_rate() const { return std::numeric_limits<double>::quiet_NaN(); }
  /// Factor on the loss, and the steps that were skipped because of it; null: no factor.
  virtual const LossScale* loss_scale() const { return nullptr; }
  /// Counts of the gradients lost by rounding, in this process.
  virtual Lost lost() const { return {}; }
  /// Returns how the next step's batch uses each level of the hash table. Costs as much as a step and updates
  /// nothing. Empty if there is no such table, or the batch comes in parts.
  virtual std::vector<LevelUse> level_uses() { return {}; }
  /// Describes the changes of an adaptive table since the last call; empty if there were none.
  virtual std::string table_news() { return ""; }
  /// Samples that a step aims at; 0 if that cannot be changed.
  virtual int64_t batch_samples() const { return 0; }
  /// Changes the batch to that many samples, if batch_samples() is not 0. Drops gradients of an unfinished
  /// step. If it throws std::bad_alloc, parameters and moments are intact, and the only allowed call is
  /// another one of it, or the destructor.
  virtual void resize_batch(int64_t samples);
  /// Returns all learned parameters, to be compared between trainers that make the same steps.
  virtual std::vector<std::span<const float>> parameters() const { return {}; }
  /// Collects the optimizer's state from other trainers on the one that saves. Must be called before save(),
  /// by all trainers that share a batch.
  virtual void collect_state() {}
  /// Saves everything needed to resume. `extra` is kept in the metadata.
  virtual void save(const std::filesystem::path& file,
                    const std::map<std::string, std::string>& extra) const = 0;
  /// Resumes from such a file. Throws std::runtime_error if it is damaged or of another config.
  virtual void restore(const TensorFile& file) = 0;

  /// Measures the gradient in the next step. It costs a pass over the gradient.
  void measure_next_gradient() { measures_gradient_ = true; }
  /// Multiplies the learning rates of the following steps, on top of their schedule.
  void scale_rates(double factor) { rate_factor_ = factor; }

 protected:
  bool measures_gradient_ = false;
  double rate_factor_ = 1;
};

/// Returns the sum of squares of a gradient.
double squares_of(std::span<const float> gradient);

inline void FieldTrainer::resize_batch(int64_t) { throw std::logic_error("this batch has one size"); }

}  // namespace klab
