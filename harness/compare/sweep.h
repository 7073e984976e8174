// Sweeps: one ladder at many sizes or numbers of threads, and the growth of its cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/records/rows.h"

namespace klab {

/// A parsed sweep: "n=2^10..2^24", "size=64..1024", "m=100,200,400", "threads=1..8".
struct Sweep {
  std::string dimension;
  std::vector<int64_t> values;  // ascending; a range doubles from its first value and ends with its last
};

/// Throws std::invalid_argument that says what is wrong and what would be right.
Sweep parse_sweep(const std::string& text);

/// Returns the shapes of an op along the sweep. Other dimensions stay as in `base`. "size" sets the first
/// dimension and those that equal it in the base (for a cube, all three). Shapes that are not legal are
/// left out. Throws std::invalid_argument if the op lacks the dimension, naming those it has, or if no shape
/// is left.
std::vector<BenchShape> shapes_of(const Sweep& sweep, const Op& op, const BenchShape& base);

/// The growth of one variant's time.
struct CostGrowth {
  std::string variant;
  int sizes = 0;
  double exponent = 0;  // time ~ work^exponent, with the contract's cost as work, in the unit of its limit
  double excess =
      0;  // the same for time divided by the time that the ceiling allows at each size: 0 for a variant that
          // keeps its distance from the ceiling
  bool flagged = false;  // grows faster than its contract and the memory hierarchy explain
};

/// A larger excess is reported as growing faster than the contract.
inline constexpr double kGrowthMargin = 0.15;

/// Computes the growth of each variant of one op with at least four sizes at one number of threads. Slopes
/// are medians of the slopes of all pairs (Theil 1950, Sen 1968), which one outlier does not change.
std::vector<CostGrowth> growth_of(const std::vector<Row>& rows);

/// Returns the median of the slopes between all pairs with different x; empty for fewer than two points.
std::optional<double> theil_sen(const std::vector<double>& x, const std::vector<double>& y);

/// The speedup of one variant with threads, at one shape.
struct Scaling {
  std::string variant, shape;
  std::vector<std::pair<int, double>> speedups;  // threads, and the speedup over the fewest threads
};
std::vector<Scaling> scaling_of(const std::vector<Row>& rows);

}  // namespace klab
