// What trainers do with a batch in parts: gradients of own parts, their sum over all trainers, and parameters that
// others have moved.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/program/profile.h"
#include "harness/program/tensors.h"
#include "labs/radiance/train/batch_share.h"
#include "labs/radiance/train/field_trainer.h"

namespace klab {

/// An array that is learned: its gradient and itself, in the memory of ops and in the host's.
struct LearnedArray {
  Handle<float> gradient, parameters;               // tensors
  std::span<float> host_gradient, host_parameters;  // their mirrors
  int64_t group = 0;                                // as SharedGradient's
};

class SharedBatch {
 public:
  SharedBatch() = default;
  /// `share` must outlive it, and so must the arrays.
  SharedBatch(const BatchShare& share, std::vector<LearnedArray> learned);

  /// Returns the mean loss of all parts over all trainers, with the sums of their rays and samples; gradients become the mean where
  /// this trainer moves parameters, and zero elsewhere. `loss` computes the part of that number and adds to gradients.
  StepReport mean_of_parts(Memory& memory, Profile& profile,
                           const std::function<StepReport(int64_t part)>& loss);
  /// Fetches the parameters that other trainers have updated; to be called after the optimizer.
  void complete(Memory& memory, Profile& profile);
  /// Completes the values of the chosen cells of a grid, of which each trainer has every ranks-th `chunk`, by those of the others.
  void share_cells(std::span<const int32_t> chosen, int64_t chunk, std::span<float> values) const;
  /// Returns the part of the tables that this trainer updates.
  StepPart part() const;
  /// Collects per-parameter state of table `table`, an array of the host with an element for each `per`
  /// parameters, from the trainers that own it.
  template <class T>
  void collect(size_t table, std::span<T> values, int64_t per, bool everywhere) const {
    if (share_->collect) share_->collect(table, values.data(), sizeof(T), per, size_of(table), everywhere);
  }

 private:
  bool on_device(const Memory& memory) const;
  void sum_on_device(Memory& memory, std::span<double> numbers);
  std::vector<Stretch> parts_of(size_t table) const;
  std::vector<const LearnedArray*> tables() const;
  int64_t size_of(size_t table) const { return int64_t(tables()[table]->host_parameters.size()); }

  const BatchShare* share_ = nullptr;
  std::vector<LearnedArray> learned_;
  PartSums sums_;
};

}  // namespace klab
