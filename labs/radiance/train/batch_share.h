// A batch in parts, of one trainer or of several that add up; and what else of a step several share out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "harness/program/memory.h"

namespace klab {

/// Entries of an array, from `begin` to before `end`.
struct Stretch {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

/// A gradient that trainers add up.
struct SharedGradient {
  std::span<float> values;
  int64_t group = 0;  // of a table: neighbors that move together; 0: the array moves as a whole
};

/// Sums where the gradients are, in the memory of GPUs that reach each other. Pointers are the device's.
struct DeviceSums {
  /// In place, everywhere: the mean over all trainers.
  std::function<void(float* values, int64_t count)> mean;
  /// Makes part r the mean on trainer r; its values on other trainers are undefined afterwards.
  std::function<void(float* values, std::span<const Stretch> parts)> mean_of_parts;
  /// Part r comes from trainer r.
  std::function<void(float* values, std::span<const Stretch> parts)> gather_parts;
};

/// How a batch is cut into parts of as many samples each, whose rays are drawn apart. A trainer computes its own parts one after
/// the other; the step goes by the mean of all parts' gradients, each summed up by itself first. So one process with two parts
/// and two with one each make the same step, bit by bit where calls are made by as many threads; with more, up to the order
/// in which the parts are added. Other numbers of parts draw other rays.
///
/// Tables, gradients that move group by group, are numbered as they come among the gradients. Every trainer makes the same calls.
struct BatchShare {
  int64_t parts = 1, first = 0, own = 1;  // of this trainer: `own` of them, from `first` on
  int64_t rank = 0, ranks = 1;            // of the trainers: which this one is
  /// Adds up over all trainers, in place: the gradients, times `scale`, and a few numbers. Empty: there is no other. Leaves zeros in
  /// the gradient of a table where others move it.
  std::function<void(std::span<const SharedGradient> gradients, std::span<double> numbers, float scale)> sum;
  /// Returns the part of a table that a trainer updates, at borders of groups. Empty: the whole table.
  std::function<Stretch(int64_t rank, size_t table, int64_t parameters)> part_of_rank;
  /// Where others move parts of tables: behind the optimizer, parameters from those that moved them. Empty: this one has.
  std::function<void(size_t table, std::span<float> parameters)> complete;
  /// Does the same for state other than parameters, onto the first trainer, or to all: elements of `bytes`
  /// bytes, one for each `per` parameters.
  std::function<void(size_t table, void* elements, int64_t bytes, int64_t per, int64_t parameters,
                     bool everywhere)>
      collect;
  /// From each trainer to all, itself included: bytes[r] from trainer r, one behind the other. Empty: nothing is shared out but the
  /// batch.
  std::function<void(const void* mine, void* all, std::span<const int64_t> bytes)> to_all;
  /// For a backend with memory of its own: sums that do not go through the host's memory. Empty functions:
  /// sums do.
  DeviceSums on_device;
};

/// A number of the step for the draws of a part: that of the first part is the step's own. Steps have 48 bits.
uint64_t draws_of(int64_t step, int64_t part);

/// What a trainer does of a step's work that does not depend on the batch.
struct StepPart {
  int64_t rank = 0, ranks = 1;       // ranks take turns at updating the occupancy grid
  std::vector<Stretch> tables = {};  // that it moves, by table; none: all of each
  Stretch of(size_t table, int64_t parameters) const {
    return table < tables.size() ? tables[table] : Stretch{0, parameters};
  }
};
/// Returns the part for tables of these sizes.
StepPart part_of(const BatchShare& share, std::span<const int64_t> tables);

/// Sums of the gradients of a trainer's own parts, in the host's memory.
class PartSums {
 public:
  PartSums() = default;
  /// For gradients of these sizes; takes memory where there is more than one own part.
  PartSums(const BatchShare& share, std::span<const int64_t> sizes);

  void begin();
  /// Behind each part: its gradient is added to those before, and is zero for the next; nothing where there is one part.
  void keep(std::span<const SharedGradient> gradients);
  /// The sum over all trainers, and the mean over the parts, in `gradients`; sums in `numbers`.
  void finish(const BatchShare& share, std::span<const SharedGradient> gradients, std::span<double> numbers);

 private:
  std::vector<Array<float>> sums_;
};

}  // namespace klab
