// A batch in parts, computed by one trainer or by several that add up their gradients, and the division of a
// step's other work.
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

/// Sums gradients in the memory of GPUs that reach each other. Pointers are the device's.
struct DeviceSums {
  /// Replaces the values on all trainers by their mean.
  std::function<void(float* values, int64_t count)> mean;
  /// Makes part r the mean on trainer r; its values on other trainers are undefined afterwards.
  std::function<void(float* values, std::span<const Stretch> parts)> mean_of_parts;
  /// Copies part r from trainer r.
  std::function<void(float* values, std::span<const Stretch> parts)> gather_parts;
};

/// Cuts a batch into parts of equal sample counts, whose rays are drawn independently. A trainer computes its
/// own parts one after the other. The step uses the mean of all parts' gradients, each summed up separately
/// first. So one process with two parts and two processes with one each make the same step, bit by bit if
/// calls use the same number of threads; with more processes, up to the order in which the parts are added.
/// Other numbers of parts draw other rays.
///
/// Tables, which are gradients that move group by group, are numbered by their order among the gradients.
/// Every trainer makes the same calls.
struct BatchShare {
  int64_t parts = 1, first = 0, own = 1;  // this trainer has `own` of the parts, from `first` on
  int64_t rank = 0, ranks = 1;            // number of this trainer, and of all
  /// Adds up the gradients over all trainers, in place, times `scale`, and a few numbers. Leaves zeros in the
  /// gradient of a table where others update it. Empty: there is only one trainer.
  std::function<void(std::span<const SharedGradient> gradients, std::span<double> numbers, float scale)> sum;
  /// Returns the part of a table that a trainer updates, at borders of groups. Empty: the whole table.
  std::function<Stretch(int64_t rank, size_t table, int64_t parameters)> part_of_rank;
  /// Fetches parameters of a table from the trainers that updated them; to be called after the optimizer.
  /// Empty: this trainer has updated all.
  std::function<void(size_t table, std::span<float> parameters)> complete;
  /// Does the same for state other than parameters, onto the first trainer, or to all: elements of `bytes`
  /// bytes, one for each `per` parameters.
  std::function<void(size_t table, void* elements, int64_t bytes, int64_t per, int64_t parameters,
                     bool everywhere)>
      collect;
  /// Sends bytes from each trainer to all, itself included: bytes[r] from trainer r, one after the other.
  /// Empty: only the batch is divided.
  std::function<void(const void* mine, void* all, std::span<const int64_t> bytes)> to_all;
  /// For a backend with memory of its own: sums that do not go through the host's memory. Empty functions:
  /// sums do.
  DeviceSums on_device;
};

/// Returns a number for the random draws of a part in a step; for the first part it is the step's own. Steps
/// have 48 bits.
uint64_t draws_of(int64_t step, int64_t part);

/// A trainer's share of the work in a step that does not depend on the batch.
struct StepPart {
  int64_t rank = 0, ranks = 1;       // ranks take turns at updating the occupancy grid
  std::vector<Stretch> tables = {};  // parts of the tables that it updates; empty: all of each
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
  /// Prepares sums for gradients of these sizes; allocates memory if there is more than one own part.
  PartSums(const BatchShare& share, std::span<const int64_t> sizes);

  void begin();
  /// Adds a part's gradient to those before and clears it for the next part. Does nothing if there is only
  /// one part.
  void keep(std::span<const SharedGradient> gradients);
  /// Leaves the mean over all parts of all trainers in `gradients`, and the sums over all trainers in
  /// `numbers`.
  void finish(const BatchShare& share, std::span<const SharedGradient> gradients, std::span<double> numbers);

 private:
  std::vector<Array<float>> sums_;
};

}  // namespace klab
