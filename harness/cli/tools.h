// Installed programs and libraries, with versions and the package that provides them.
#pragma once

#include <string>
#include <vector>

namespace klab {

struct Tool {
  std::string name;
  std::string version;  // empty: not found
  std::string where;    // path of a program
  std::string package;  // Debian/Ubuntu package that provides it; empty: none does
  std::string purpose;  // how klab uses it, or works without it
  bool required = false;
};

/// Returns the first line that a shell command prints, or "" if it cannot be run.
std::string first_line_of(const std::string& command);

/// Finds compilers and build tools on PATH (nvcc also in $CUDACXX and /usr/local/cuda).
std::vector<Tool> find_programs();

/// Lists the libraries that this program was built with, and those that it could use.
std::vector<Tool> find_libraries();

/// Fraction of all processors' time in [0, 1] used by other programs during a quarter of a second, and that
/// taken by other guests of the same host. Negative if the system does not report it.
struct Load {
  double busy = -1;
  double stolen = -1;
};
Load measure_load();

}  // namespace klab
