// The operands of a timed ladder: one set that stays hot, or as many copies as it takes for each to be cold
// again when its turn comes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/buffers.h"
#include "harness/core/lab.h"

namespace klab {

class BenchInputs {
 public:
  /// Draws inputs by seed; when cold, all copies but one fill `caches` last-level caches. Throws
  /// std::invalid_argument when one set does not fit in half of the free memory.
  BenchInputs(const LabOp& op, ShapeView shape, Cache cache, uint64_t seed, int caches = 4);

  int64_t copies() const { return int64_t(copies_.size()); }
  std::span<void* const> pointers(int64_t copy) const { return copies_[size_t(copy)]->pointers(); }
  /// "hot", or "cold: 5 copies of 28 MB".
  const std::string& text() const { return text_; }
  bool accumulates() const { return accumulates_; }

  /// Outputs become NaN, accumulated tensors what they were at first.
  void reset(int64_t copy);
  /// Over the bits of everything written.
  uint64_t hash_of_outputs(int64_t copy) const;

 private:
  std::vector<TensorSpec> specs_;
  std::vector<std::unique_ptr<Tensors>> copies_;
  std::unique_ptr<Tensors> first_;  // what accumulated tensors start from; null when there are none
  std::string text_;
  bool accumulates_ = false;
};

/// Copies needed so that the others push a copy of `footprint` bytes out of a last-level cache between two of
/// its turns: together `caches` times the cache, within `memory` bytes. A large copy needs another one, too: it
/// does not push itself out where what is written goes around the caches, or where they keep more than what came
/// last.
int64_t copies_for_cold(int64_t footprint, int64_t last_level, int64_t memory, int caches = 4);

}  // namespace klab
