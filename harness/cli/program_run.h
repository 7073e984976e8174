// klab trace PROGRAM.cu: compiles any CUDA program with klab-nvcc, runs it in its own process under limits,
// and reports on it as on klab's own kernels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/trace_text.h"

namespace klab {

struct ProgramLimits {
  double seconds = 600;  // wall time
  int64_t bytes = 0;     // resident memory including children; 0: three quarters of the machine's memory
  int processes = 64;    // it and its children, at one time
};

struct ProgramOptions {
  std::vector<std::string> files;      // CUDA and C++ files, or one program built by klab-nvcc
  std::vector<std::string> compiler;   // further options for klab-nvcc
  std::vector<std::string> arguments;  // of the program
  double share = 1;                    // fraction of a grid's blocks that is watched
  double limit = -1;                   // seconds from which on fewer are watched; 0: never; -1: 60
  bool compiled = true;                // also compile with nvcc, if installed, and count by its code
  bool stop_at_first = false;          // an access out of bounds ends its launch with cudaErrorIllegalAddress
  uint64_t seed = 1;
  int threads = 0;  // threads that run the blocks of a grid; 0: one per core
  ProgramLimits limits;
};

/// The results of a run.
struct ProgramRun {
  CountedRun counted;  // launches, lines, findings
  std::string name;    // of the program, as given
  std::string ended;   // how it was ended, "was ended after 600 s"; empty: it exited by itself
  int exit_code = 0;
  double seconds = 0;         // wall time of the whole run
  double kernel_seconds = 0;  // of launches
  int64_t launched = 0;
  double share = 1;  // of all blocks that was watched
  double thinned_after =
      0;  // seconds from which on fewer blocks were watched; 0: all were, or the share was given
  std::vector<LocalMemory> local;  // of the kernels, as nvcc compiled them
  std::vector<UnitInstruction> units;
  bool reported = false;  // it ended normally enough to write a report
  /// Returns whether an error was found, other than leaks.
  bool illegal() const;
  int64_t accesses() const;  // number of counted loads and stores by threads
};

/// Returns whether `name` is a program or one of its files, rather than a variant.
bool is_program(const std::string& name);

/// Compiles, if necessary, and runs. The program's output goes to klab's own, or to standard error if
/// `quiet`. Throws std::invalid_argument with one line if it cannot be compiled or run.
ProgramRun run_program(const ProgramOptions& options, bool quiet);

std::string program_text(const ProgramRun& run);
nlohmann::ordered_json program_json(const ProgramRun& run);
std::string program_html(const ProgramRun& run);

}  // namespace klab
