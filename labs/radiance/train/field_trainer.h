// What a training run needs of a trainer, whatever holds the scene.
#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/program/loss_scale.h"
#include "harness/program/profile.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/train/level_use.h"
#include "labs/radiance/train/runner.h"
#include "reference/rounding.h"

namespace klab {

struct StepReport {
  int64_t step = 0;  // steps done, this one included
  double loss = 0;   // of step.h
  int64_t rays = 0;
  int64_t samples = 0;  // with a gradient, through the whole step
  int64_t marched = 0;  // before the samples behind opaque ones were left out
  bool finite = true;   // loss and gradients; if not, a loss scale has left the step out
};

/// A loss, gradient or parameter that is no longer finite. The message names step and tensor.
class NotFinite : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Pixels in, a field out. One step at a time, so that whoever owns the clock decides when to stop.
class FieldTrainer {
 public:
  virtual ~FieldTrainer() = default;

  /// One optimizer step. `progress` in [0,1] is how far the run is, for schedules. Throws NotFinite before a parameter is
  /// touched by what is not finite.
  virtual StepReport step(double progress) = 0;
  /// PSNR of the pixels of the last step's batch as they were before the update, dB.
  virtual double batch_psnr() = 0;
  /// Its loss, where the step did without: `of_step` is what its report says.
  virtual double batch_loss(double of_step) { return of_step; }
  virtual int64_t steps_done() const = 0;
  /// Of the volume, as far as it is known to be empty or not; 1 where nothing is known.
  virtual double occupied_share() const = 0;
  virtual Profile& profile() = 0;
  virtual const Runner::Counts& host_counts() const = 0;
  /// Of the last step, of the parameters that hold the scene; NaN where there is not one rate.
  virtual double learning_rate() const { return std::numeric_limits<double>::quiet_NaN(); }
  /// What the loss is multiplied by, and the steps that were left out for it; null: it is not.
  virtual const LossScale* loss_scale() const { return nullptr; }
  /// What became of gradients that were rounded, in this process.
  virtual Lost lost() const { return {}; }
  /// What the next step's batch does to each level of the hash table. Costs as much as a step and moves nothing. Empty where there
  /// is no such table, or where its gradient is not in the host's memory.
  virtual std::vector<LevelUse> level_uses() { return {}; }
  /// What became of an adaptive table since this was asked last, in words; empty where nothing did.
  virtual std::string table_news() { return ""; }
  /// Samples that a step aims at; 0 where that cannot be changed.
  virtual int64_t batch_samples() const { return 0; }
  /// A batch of so many samples from now on, where batch_samples() is not 0. Gradients that a step has left half-way are forgotten.
  /// Where that throws std::bad_alloc nothing but another call of it, or the end, is allowed: parameters and moments are whole.
  virtual void resize_batch(int64_t samples);
  /// All that is learned, to be compared between trainers that make the same steps.
  virtual std::vector<std::span<const float>> parameters() const { return {}; }
  /// Before save(), by all trainers that share a batch: what others keep of the optimizer's state comes to the one that saves.
  virtual void collect_state() {}
  /// Everything needed to go on. `extra` is kept in the metadata.
  virtual void save(const std::filesystem::path& file,
                    const std::map<std::string, std::string>& extra) const = 0;
  /// Goes on from such a file. Throws std::runtime_error when it is damaged or of another config.
  virtual void restore(const TensorFile& file) = 0;
};

inline void FieldTrainer::resize_batch(int64_t) { throw std::logic_error("this batch has one size"); }

}  // namespace klab
