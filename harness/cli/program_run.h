// klab trace PROGRAM.cu: other people's CUDA programs, compiled by klab-nvcc, run in a process of their own that cannot outlive
// its limits, and reported on as klab's own kernels are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/trace_text.h"

namespace klab {

struct ProgramLimits {
  double seconds = 600;  // wall time
  int64_t bytes = 0;     // resident, with all that it starts; 0: three quarters of the machine's memory
  int processes = 64;    // it and all that it starts, at once
};

struct ProgramOptions {
  std::vector<std::string> files;      // CUDA and C++ files, or one program that klab-nvcc has made
  std::vector<std::string> compiler;   // further options for klab-nvcc
  std::vector<std::string> arguments;  // of the program
  double share = 1;                    // of the blocks of a grid that are watched
  bool compiled = true;                // have nvcc compile it too, where there is one, and count by its code
  uint64_t seed = 1;
  int threads = 0;  // that run the blocks of a grid; 0: as many as there are cores
  ProgramLimits limits;
};

/// What is known of a run.
struct ProgramRun {
  CountedRun counted;  // launches, lines, findings
  std::string name;    // of the program, as given
  std::string ended;   // how, where not by itself: "was ended after 600 s"; empty: it exited
  int exit_code = 0;
  double seconds = 0;         // wall time of the whole run
  double kernel_seconds = 0;  // of launches
  int64_t launched = 0;
  double share = 1;
  std::vector<LocalMemory> local;  // of the kernels, as nvcc compiled them
  bool reported = false;           // it came to its end, so that there is a report
  /// Whether anything was found that is wrong, leaks aside.
  bool illegal() const;
  int64_t accesses() const;  // loads and stores of threads that were counted
};

/// Whether `name` is a program or a file of one, rather than a variant.
bool is_program(const std::string& name);

/// Compiles, where there is something to compile, and runs. The program's own output goes where klab's goes, to standard
/// error where `quiet`. Throws std::invalid_argument, in one line, for what cannot be compiled or run.
ProgramRun run_program(const ProgramOptions& options, bool quiet);

std::string program_text(const ProgramRun& run);
nlohmann::ordered_json program_json(const ProgramRun& run);
std::string program_html(const ProgramRun& run);

}  // namespace klab
