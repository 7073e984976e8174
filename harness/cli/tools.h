// What is installed here: programs and libraries, with versions and the package that would bring them.
#pragma once

#include <string>
#include <vector>

namespace klab {

struct Tool {
  std::string name;
  std::string version;  // empty: not found
  std::string where;    // path of a program
  std::string package;  // Debian/Ubuntu package that brings it; empty: none does
  std::string purpose;  // what klab does with it, or without it
  bool required = false;
};

/// First line a command prints, or "" when it cannot be run. The command is for the shell.
std::string first_line_of(const std::string& command);

/// Compilers and build tools, found on PATH (nvcc also in $CUDACXX and /usr/local/cuda).
std::vector<Tool> find_programs();

/// Libraries this program was built with, and those it could have been.
std::vector<Tool> find_libraries();

/// Share of all processors' time in [0, 1] that went to other programs over a quarter of a second, and the
/// share that another guest of the same host took. Negative where the system does not tell.
struct Load {
  double busy = -1;
  double stolen = -1;
};
Load measure_load();

}  // namespace klab
