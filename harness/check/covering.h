// Shapes in which conditions meet: what goes wrong at an edge only where a flag is set, too, is on no list of single sizes.
//
// Each dimension is a factor. A size has five levels, by what it leaves over a vector or a tile: nothing, one more, one less, a
// multiple of four only, another odd number. A parameter has its values as levels. Where the tensors begin is one more factor.
// The rows are a covering array: every two levels of two factors are in one of them (strength 2), unless the contract allows no
// such shape, or the check cannot afford it. Each seed takes another part of the combinations of three levels.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/lab.h"

namespace klab {

struct CoveringRow {
  std::vector<int64_t> shape;
  size_t alignment = 0;  // 0 to kCoveredAlignments - 1
};
constexpr size_t kCoveredAlignments = 3;  // those besides the whole one

struct Covering {
  std::vector<CoveringRow> rows;
  size_t pairs = 0;                   // combinations of two levels in the rows
  std::vector<std::string> left_out;  // those that no shape has: "m one less, transposed 1"
};

/// What decides about the rows.
struct CoveringOptions {
  std::span<const std::vector<int64_t>> sizes;  // of each dimension, ascending
  std::span<const int64_t> tiles;
  uint64_t seed = 1;
  double share = 0;     // of work, that a row stays below where it can
  size_t triples = 16;  // combinations of three levels, and more until there are `fewest` rows
  size_t fewest = 0;
  bool all_triples = false;  // all of them instead
  /// The work of a shape; negative where it is not legal or too expensive.
  std::function<double(const std::vector<int64_t>&)> cost;
};

Covering covering_rows(const LabOp& op, const CoveringOptions& options);

/// Returns the covering array of the op's check; `tiles` of all variants, ascending.
Covering covering_of_check(const LabOp& op, std::span<const int64_t> tiles, uint64_t seed, bool all_triples);

}  // namespace klab
