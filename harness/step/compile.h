// One work file made into something to load, with the flags that klab itself was built with.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/step/process.h"
#include "harness/step/step.h"

namespace klab {

/// What the compiler says it did with a loop.
struct LoopNote {
  int line = 0;
  bool vectorized = false;
  int bytes = 0;         // of its vectors
  bool checked = false;  // vectorized, with a test at run time whether pointers overlap
  std::string why;       // not vectorized: the compiler's reason
  std::string source;    // the line
};

struct Compiled {
  bool good = false;
  std::string message;  // what the compiler said, file names as the learner knows them
  double seconds = 0;
  std::vector<std::filesystem::path> modules;  // CPU: one; CUDA: plain and traced
  std::vector<LoopNote> loops;                 // CPU, and a compiler that tells
  std::string loops_unknown;                   // why there are none
  Ended::How how = Ended::How::exited;         // of the compiler
  std::string object;                          // digest of the machine code, debug information apart
};

struct CompileOptions {
  ProcessLimits limits{.seconds = 120, .bytes = 0};
  /// Makes of each command the one to be run; empty: itself.
  std::function<std::vector<std::string>(const std::vector<std::string>&)> wrap;
};

/// Compiles `source` for a step into `folder`, the two forms of a CUDA file side by side. Throws std::runtime_error
/// where the commands of klab's own build are not at hand.
Compiled compile_work(const Step& step, const std::filesystem::path& source,
                      const std::filesystem::path& folder, const CompileOptions& options = {});

/// A command line taken apart as the shell does: quotes and backslashes.
std::vector<std::string> split_command(const std::string& command);

/// Loops of `file` in what -fopt-info-vec-optimized-missed writes. `source` is the file's text.
std::vector<LoopNote> loops_in(const std::string& opt_info, const std::string& file,
                               const std::string& source);

}  // namespace klab
