// A batch in parts, of one trainer or of several that add up.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "harness/program/memory.h"

namespace klab {

/// How a batch is cut into parts of as many samples each, whose rays are drawn apart. A trainer computes its own parts one after
/// the other; the step goes by the mean of all parts' gradients, each summed up by itself first. So one process with two parts
/// and two with one each make the same step, bit by bit where calls are made by as many threads; with more, up to the order
/// in which the parts are added. Other numbers of parts draw other rays.
struct BatchShare {
  int64_t parts = 1, first = 0, own = 1;  // of this trainer: `own` of them, from `first` on
  /// Adds up over all trainers, in place: the gradients, of which the first is that of a table, and a few numbers. Empty: there is
  /// no other. May leave zeros in the gradient of the table where others move it.
  std::function<void(std::span<const std::span<float>> gradients, std::span<double> numbers)> sum;
  /// Where others move parts of the table: behind the optimizer, parameters from those that moved them. Empty: this one has.
  std::function<void(std::span<float> table)> complete;
  /// The same of what the optimizer keeps of it, onto the trainer that saves: elements of so many bytes, one for each `per` of the
  /// parameters.
  std::function<void(void* elements, int64_t bytes, int64_t per, int64_t parameters)> collect;
};

/// A number of the step for the draws of a part: that of the first part is the step's own. Steps have 48 bits.
uint64_t draws_of(int64_t step, int64_t part);

/// Sums of the gradients of a trainer's own parts, in the host's memory.
class PartSums {
 public:
  PartSums() = default;
  /// For gradients of these sizes; takes memory where there is more than one own part.
  PartSums(const BatchShare& share, std::span<const int64_t> sizes);

  void begin();
  /// Behind each part: its gradient is added to those before, and is zero for the next; nothing where there is one part.
  void keep(std::span<const std::span<float>> gradients);
  /// The sum over all trainers, and the mean over the parts, in `gradients`; sums in `numbers`.
  void finish(const BatchShare& share, std::span<const std::span<float>> gradients,
              std::span<double> numbers);

 private:
  std::vector<Array<float>> sums_;
};

}  // namespace klab
