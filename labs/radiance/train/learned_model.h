// A model while it is learned: its parameters with their gradients, moments and averages, in the host's memory. That is
// what a checkpoint keeps of a trainer's parameters; the tensors of a step are tied to these arrays.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "labs/radiance/field/model.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/train/adaptive_table.h"
#include "labs/radiance/train/level_use.h"
#include "labs/radiance/train/shared_batch.h"
#include "labs/radiance/train/train_step.h"

namespace klab {

class LearnedModel {
 public:
  LearnedModel(const Config& config, const Placement& placement);
  /// Allocates gradients and moments, and averages if the config asks for them.
  void allocate_moments();

  Model& model() { return model_; }
  const Model& model() const { return model_; }
  Array<float>& gradient(Part part) { return moments_[size_t(part)].gradient; }

  /// Ties the step's tensors to the arrays, before memory is allocated.
  void tie(Memory& memory, const TrainStep& step);
  /// Returns the arrays that trainers with a part of the batch each share.
  std::vector<LearnedArray> arrays(const TrainStep& step) const;
  /// Collects moments and averages of the table from other trainers: every trainer that makes pictures needs averages; only
  /// the one that saves needs moments.
  void collect(const SharedBatch& shared) const;

  /// Fills the gradients with zeros, here only.
  void clear_gradients();
  /// Sets the gradient's length before and after clipping in the report, and what weight decay adds.
  void measure_gradient(StepReport& report) const;

  /// Copies the parameters of a model of the same config.
  void take_parameters(const Model& from);
  /// Sets parameters to 0 where `other` has 0.
  void keep_zeros_of(const Model& other);
  /// Adds a multiple of a direction to the parameters of a part.
  void move(Part part, const std::vector<float>& direction, double times);

  /// Notes an update of the averages, which keep that share of their weight.
  void count_average(double keep) { averaged_weight_ = keep * averaged_weight_ + (1 - keep); }
  double averaged_weight() const { return averaged_weight_; }
  /// Returns a copy of the model: averaged weights if the config asks for them.
  Model averaged() const;

  /// Returns the arrays by table entry, for an adaptive table.
  TableEntries table_entries();
  /// Returns how a batch at these positions, [3, samples] in [0, 1], uses the levels; its gradient is here.
  std::vector<LevelUse> level_uses(const std::vector<float>& positions) const;

  /// Returns the tensors of a checkpoint.
  std::vector<TensorView> state() const;
  /// Takes over what a checkpoint has besides tensors, which were read. Throws std::runtime_error, "<where>: ...", for
  /// moments or level sizes that no training of `step` steps has.
  void restore(int64_t step, double averaged_weight, const std::string& where);

 private:
  bool averages() const { return model_.config.ema > 0; }

  Model model_;
  std::array<OptimizerState, 3> moments_;  // by Part
  std::array<Array<float>, 3> averages_;   // by Part; empty without averaging
  double averaged_weight_ = 0;             // sum of the average's weights, for debiasing
};

}  // namespace klab
