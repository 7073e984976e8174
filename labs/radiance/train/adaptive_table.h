// A hash table that is as large as what is stored in it: levels begin small, grow by half when they are crowded, shrink by a third
// when they are nearly idle, and entries that nobody has needed for long begin anew.
//
// How many points a level has to store is not known, but how many of its entries are in use is: those that received a gradient
// since the last look, by Adam's counts of steps. Where m points fall into k entries at random, a share 1 - exp(-m/k) of them is
// in use (half: 0.7 points an entry).
//
// Sizes: any multiple of 8. A level of m entries that becomes one of m + m/2 keeps every entry, and each new one begins as a copy
// of the entry in whose place it is from now on (linear hashing, reference/hashtable_fwd/table_layout.h): values, moments, step
// counts and averages alike, so that the field is the same before and after, bit by bit. Shrinking is the way back: two entries
// become one, that of both which was used more recently, so the field stays the same where no more than one of them is in use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/program/memory.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/field/config.h"

namespace klab {

/// What is stored by entry: `features` floats in each of `values` (parameters, moments, averages), a count in each of `counts`.
struct TableEntries {
  std::vector<float*> values;
  std::vector<int32_t*> counts;  // Adam's steps first
  int64_t features = 1;
};

/// Moves levels of `from` entries each to their new places as levels of `to` entries, one behind the other, where each level's
/// size may at most be divided by two. Of two entries that become one the more recently `used` stays; `used` ([entries], one of
/// the counts) moves along. What lies behind the last level is zero afterwards up to where the old ones ended.
void resize_levels(const TableEntries& entries, const std::vector<int64_t>& from,
                   const std::vector<int64_t>& to, const int32_t* used);

/// What a look at the table has changed.
struct TableChange {
  int64_t grown = 0, shrunk = 0;  // levels
  int64_t recycled = 0;           // entries that begin anew
};

class AdaptiveTable {
 public:
  /// For a config whose table is adaptive.
  AdaptiveTable(const Config& config, int cascades);

  /// Shares of the entries of each level that received a gradient since the last look.
  std::vector<double> in_use(const std::vector<int64_t>& sizes, const int32_t* steps) const;

  /// Sizes for levels of which these shares are in use. Crowded ones grow, coarse before fine, as long as there is room.
  std::vector<int64_t> wanted(const std::vector<int64_t>& sizes, const std::vector<double>& in_use) const;

  /// Notes which entries are in use, and changes nothing.
  void note(const TableEntries& entries, int64_t step, const std::vector<int64_t>& sizes);
  /// Looks at the levels after `step` steps: resizes them, and lets idle entries begin anew. The gradient must be zero.
  TableChange look(const TableEntries& entries, int64_t step, std::vector<int64_t>& sizes);

  /// For a checkpoint: counts at the last look, and the step at which each entry was in use last.
  std::vector<TensorView> state() const;

 private:
  int64_t recycle(const TableEntries& entries, int64_t in_all, int64_t step);

  Config c_;
  std::vector<int64_t> least_, most_;
  int64_t room_;
  Array<int32_t> seen_;  // [room] counts at the last look
  Array<int32_t> last_;  // [room] the step of the last look at which an entry was in use
};

}  // namespace klab
