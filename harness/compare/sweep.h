// Sweeps: one ladder at many sizes or numbers of threads, and how its cost grows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/records/rows.h"

namespace klab {

/// "n=2^10..2^24", "size=64..1024", "m=100,200,400", "threads=1..8".
struct Sweep {
  std::string dimension;
  std::vector<int64_t> values;  // ascending; a range doubles from its begin and ends with its end
};

/// Throws std::invalid_argument saying what is wrong and what would be right.
Sweep parse_sweep(const std::string& text);

/// The shapes of an op along the sweep. Other dimensions stay as in `base`. "size" sets the first dimension, and those
/// that equal it in the base: all three of a cube. Throws std::invalid_argument for a dimension that the op has not,
/// naming those it has; shapes that are not legal are left out, unless none is left.
std::vector<BenchShape> shapes_of(const Sweep& sweep, const Op& op, const BenchShape& base);

/// How the time of one variant grows.
struct CostGrowth {
  std::string variant;
  int sizes = 0;
  double exponent = 0;  // time ~ work^exponent, work being the contract's cost in the unit of its limit
  double excess =
      0;  // the same of time over the time that the ceiling at each size allows: 0 for a variant that
          // stays as near to its ceiling
  bool flagged = false;  // grows faster than its contract and the memory hierarchy explain
};

/// An excess above this is called faster than the contract.
inline constexpr double kGrowthMargin = 0.15;

/// For each variant of one op with at least four sizes at one number of threads. Slopes are medians of the slopes of
/// all pairs (Theil 1950, Sen 1968), which one odd size does not bend.
std::vector<CostGrowth> growth_of(const std::vector<Row>& rows);

/// Median of the slopes between all pairs with different x; empty with fewer than two.
std::optional<double> theil_sen(const std::vector<double>& x, const std::vector<double>& y);

/// How the time of one variant falls with threads, at one shape.
struct Scaling {
  std::string variant, shape;
  std::vector<std::pair<int, double>> speedups;  // threads, over the fewest threads
};
std::vector<Scaling> scaling_of(const std::vector<Row>& rows);

}  // namespace klab
