// klab check --boundaries: which sides of a contract's boundaries do the drawings of a check meet?
#pragma once

#include <string>
#include <vector>

namespace klab {

struct BoundaryRun {
  std::vector<std::string> what;  // labs, ops, variants, globs
  std::string backend;
  bool json = false;
};

/// Prints for each op its boundaries and the cases on each side. Returns the exit code: 1 when a side that a contract
/// wants has no case, or a boundary cannot be counted.
int run_boundaries(const BoundaryRun& run);

}  // namespace klab
