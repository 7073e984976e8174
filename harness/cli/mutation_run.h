// klab check --mutants: mutates variants and reports the survivors.
#pragma once

#include <string>
#include <vector>

namespace klab {

struct MutationRun {
  std::vector<std::string> what;  // ops, variants, globs
  std::string backend;
  int most = 0;  // mutants per variant; 0: all
  bool json = false;
};

/// Prints progress, the survivors by file and line, and a count. Returns the exit code: 0 even if some
/// survived.
int run_mutants(const MutationRun& run);

}  // namespace klab
