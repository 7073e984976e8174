// klab check --mutants: mutates variants and says what survived.
#pragma once

#include <string>
#include <vector>

namespace klab {

struct MutationRun {
  std::vector<std::string> what;  // ops, variants, globs
  std::string backend;
  int most = 0;  // mutants a variant; 0: all
  bool json = false;
};

/// Prints progress, the survivors by file and line, and a count. Returns the exit code: 0 also where some survived.
int run_mutants(const MutationRun& run);

}  // namespace klab
