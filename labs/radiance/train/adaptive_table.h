// A hash table whose size follows its content. Levels start small, grow by half when they are crowded, and
// shrink by a third when they are nearly idle. Entries that have not been used for long are reset.
//
// The number of points that a level has to store is unknown, but the number of its entries in use is known:
// those that received a gradient since the last check, by Adam's counts of steps. If m points fall into k
// entries at random, a share 1 - exp(-m/k) of them is in use (half: 0.7 points an entry).
//
// Sizes: any multiple of 8. A level of m entries that grows to m + m/2 keeps every entry, and each new one
// starts as a copy of the entry that it replaces for some points (linear hashing,
// reference/hashtable_fwd/table_layout.h). Values, moments, step counts and averages are all copied, so that
// the field is the same before and after, bit by bit. Shrinking reverses this: two entries become one, the
// one used more recently, so the field stays the same if at most one of them is in use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/program/memory.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/field/config.h"

namespace klab {

/// Data stored by entry: `features` floats in each of `values` (parameters, moments, averages), a count in
/// each of `counts`.
struct TableEntries {
  std::vector<float*> values;
  std::vector<int32_t*> counts;    // Adam's steps first
  const float* squares = nullptr;  // of the values: mean squares of gradients
  int64_t features = 1;
};

/// Moves levels of `from` entries each to their new places as levels of `to` entries, one after the other; a
/// level may shrink to half at most. When two entries become one, the more recently `used` stays; `used`
/// ([entries], one of the counts) moves along. Clears the entries behind the last level up to the old end.
void resize_levels(const TableEntries& entries, const std::vector<int64_t>& from,
                   const std::vector<int64_t>& to, const int32_t* used);

/// Result of a check of the table.
struct TableChange {
  int64_t grown = 0, shrunk = 0;  // levels
  int64_t recycled = 0;           // entries that were reset
  bool any() const { return grown + shrunk + recycled > 0; }
  TableChange& operator+=(const TableChange& more) {
    grown += more.grown;
    shrunk += more.shrunk;
    recycled += more.recycled;
    return *this;
  }
};

class AdaptiveTable {
 public:
  /// For a config whose table is adaptive.
  AdaptiveTable(const Config& config, int cascades);

  /// Returns the share of each level's entries that received a gradient since the last check.
  std::vector<double> in_use(const std::vector<int64_t>& sizes, const int32_t* steps) const;

  /// Returns the levels in the order in which they grow: coarse before fine, or by the gradients of their entries.
  std::vector<size_t> order(const TableEntries& entries, const std::vector<int64_t>& sizes) const;

  /// Returns the sizes for levels with these shares in use. Crowded ones grow in the given order while there is room.
  std::vector<int64_t> wanted(const std::vector<int64_t>& sizes, const std::vector<double>& in_use,
                              const std::vector<size_t>& order) const;

  /// Records which entries are in use, and changes nothing.
  void note(const TableEntries& entries, int64_t step, const std::vector<int64_t>& sizes);
  /// Checks the levels after `step` steps: resizes them and resets idle entries. The gradient must be zero.
  TableChange adapt(const TableEntries& entries, int64_t step, std::vector<int64_t>& sizes);

  /// State for a checkpoint: counts at the last check, and the step at which each entry was in use last.
  std::vector<TensorView> state() const;

 private:
  int64_t recycle(const TableEntries& entries, int64_t in_all, int64_t step);

  Config c_;
  std::vector<int64_t> least_, most_;
  int64_t room_;
  Array<int32_t> seen_;  // [room] counts at the last check
  Array<int32_t> last_;  // [room] the step of the last check at which an entry was in use
};

}  // namespace klab
