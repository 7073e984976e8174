// What trainers on a runner do with a batch in parts: gradients of own parts, their sum over all trainers, and parameters that
// others have moved.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/program/profile.h"
#include "labs/radiance/train/batch_share.h"
#include "labs/radiance/train/field_trainer.h"
#include "labs/radiance/train/runner.h"

namespace klab {

/// An array that is learned: its gradient and itself, as the lists name them and as the host has them.
struct LearnedArray {
  const float *gradient, *parameters;               // tensors
  std::span<float> host_gradient, host_parameters;  // their mirrors
  int64_t group = 0;                                // as SharedGradient's
};

class SharedBatch {
 public:
  SharedBatch() = default;
  /// `share` must outlive it, and so must the arrays.
  SharedBatch(const BatchShare& share, std::vector<LearnedArray> learned);

  /// The mean loss of all parts over all trainers, and how many rays and samples they have together; gradients are the mean where
  /// this trainer moves parameters, and zero elsewhere. `loss` computes the part of that number and adds to gradients.
  StepReport add_up(Runner& runner, Profile& profile, const std::function<StepReport(int64_t part)>& loss);
  /// Fetches the parameters that other trainers have updated; to be called after the optimizer.
  void complete(Runner& runner, Profile& profile);
  /// Returns the part of the tables that this trainer updates.
  StepPart part() const;
  /// Collects per-parameter state of table `table`, an array of the host with an element for each `per`
  /// parameters, from the trainers that own it.
  template <class T>
  void collect(size_t table, std::span<T> values, int64_t per, bool everywhere) const {
    if (share_->collect) share_->collect(table, values.data(), sizeof(T), per, size_of(table), everywhere);
  }

 private:
  bool on_device(const Runner& runner) const;
  void sum_on_device(Runner& runner, std::span<double> numbers);
  std::vector<Stretch> parts_of(size_t table) const;
  std::vector<const LearnedArray*> tables() const;
  int64_t size_of(size_t table) const { return int64_t(tables()[table]->host_parameters.size()); }

  const BatchShare* share_ = nullptr;
  std::vector<LearnedArray> learned_;
  PartSums sums_;
};

}  // namespace klab
