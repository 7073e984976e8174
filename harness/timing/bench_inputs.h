// The operands of a timed ladder: one set that stays hot, or as many copies as it takes for each to be cold
// again when its turn comes. Where memory is too short for these, there are as many as it holds, and their lines are flushed from
// the caches before each sample.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/buffers.h"
#include "harness/core/lab.h"

namespace klab {

class BenchInputs {
 public:
  /// Draws inputs by seed; when cold, all copies but one fill `caches` last-level caches within `cold_bytes` (empty:
  /// kMostColdBytes, or one copy more where that is larger). Throws std::invalid_argument when one set does not fit in half of
  /// the free memory.
  BenchInputs(const LabOp& op, ShapeView shape, Cache cache, uint64_t seed, int caches = 4,
              std::optional<int64_t> cold_bytes = {});

  int64_t copies() const { return int64_t(copies_.size()); }
  std::span<void* const> pointers(int64_t copy) const { return copies_[size_t(copy)]->pointers(); }
  /// "hot", "cold: 5 copies of 28 MB", or "cold: 2 copies of 28 MB, flushed before each sample".
  const std::string& text() const { return text_; }
  /// What was given up because the copies may not take what would empty the cache; empty where they do.
  const std::string& gave_up() const { return gave_up_; }
  /// Whether flush() must be called before copies are used cold.
  bool flushed() const { return flushed_; }
  /// Limit on the calls of a sample: a flushed copy is cold for one.
  int64_t calls_a_sample() const { return flushed_ ? copies() : std::numeric_limits<int64_t>::max(); }
  /// Evicts all copies from the caches.
  void flush() const;
  bool accumulates() const { return accumulates_; }

  /// Outputs become NaN, accumulated tensors what they were at first.
  void reset(int64_t copy);
  /// Over the bits of everything written.
  uint64_t hash_of_outputs(int64_t copy) const;

 private:
  void give_up_sweep(int64_t last_level);

  std::vector<TensorSpec> specs_;
  std::vector<std::unique_ptr<Tensors>> copies_;
  std::unique_ptr<Tensors> first_;  // what accumulated tensors start from; null when there are none
  std::string text_, gave_up_;
  bool flushed_ = false;
  bool accumulates_ = false;
};

/// Copies needed so that the others push a copy of `footprint` bytes out of a last-level cache between two of
/// its turns: together `caches` times the cache, within `memory` bytes. A large copy needs another one, too: it
/// does not push itself out where what is written goes around the caches, or where they keep more than what came
/// last.
int64_t copies_for_cold(int64_t footprint, int64_t last_level, int64_t memory, int caches = 4);

}  // namespace klab
