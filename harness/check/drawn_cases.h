// The cases of a check: its shapes in their order, and the inputs that are drawn at each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/core/fill.h"

namespace klab {

/// CUDA variants are executed by the host thread by thread: shapes cheaper than these are run with every access watched.
constexpr double kWatchedBelow = 2e5;

struct ShapesOfCheck {
  std::vector<std::vector<int64_t>> shapes;
  size_t usual = 0;  // the first ones; the others are shapes_beyond()
  ShapeAlignments alignments;
};

/// Returns the shapes of one check. A shape's place in the list is its turn.
ShapesOfCheck shapes_in_order(const LabOp& op, std::span<const Variant* const> variants,
                              const CheckOptions& options);

/// Returns the generator of the inputs at the shape with that turn.
Generator generator_of(const CheckOptions& options, size_t turn);

/// In place of a turn: wide inputs stay as they were drawn.
constexpr size_t kAsDrawn = size_t(-1);

/// Draws the inputs of one case. Wide inputs are moved to one of the boundaries that say how, or to none: these choices follow each
/// other from turn to turn.
void draw_inputs(const LabOp& op, ShapeView shape, const std::vector<TensorSpec>& specs,
                 std::span<void* const> pointers, Pattern pattern, Generator& random, size_t turn);

/// "below, on"
std::string names_of_sides(unsigned sides);

/// The cases on each side of one boundary.
struct BoundaryCount {
  std::string name, of;      // "kink", "x"
  unsigned wanted = 0;       // sides
  int64_t cases[5] = {};     // of a check, as kSideNames
  int64_t quick[5] = {};     // of a check with --quick
  std::string broken = {};   // why it cannot be counted; empty: it can
  unsigned missing() const;  // wanted sides without a case
  unsigned missing_if_quick() const;
};

/// The cases that one variant supports.
struct VariantCount {
  std::string variant;
  int64_t cases = 0;
  std::vector<std::string> missing;  // "kink: on": sides that other variants' cases meet and its own do not
};

struct BoundaryCounts {
  std::vector<BoundaryCount> boundaries;
  std::vector<VariantCount> variants;
  int64_t cases = 0, quick_cases = 0;
  size_t pairs = 0;                              // of conditions (covering.h), in the check's shapes
  std::vector<std::string> pairs_left_out = {};  // those that no shape has
  int wanted() const;                            // sides
  int met() const;
};

/// Counts the cases of a check, and of a quick one, on each side of the op's boundaries. Runs no variant; the
/// reference only where a boundary concerns results.
BoundaryCounts count_boundaries(const LabOp& op, std::span<const Variant* const> variants,
                                const CheckOptions& options);

}  // namespace klab
