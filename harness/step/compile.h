// Compiles a work file to a loadable module, with the flags that klab itself was built with.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/step/process.h"
#include "harness/step/step.h"

namespace klab {

/// The compiler's report about a loop.
struct LoopNote {
  int line = 0;
  bool vectorized = false;
  int bytes = 0;         // of its vectors
  bool checked = false;  // vectorized, with a run-time test for overlapping pointers
  std::string why;       // if not vectorized: the compiler's reason
  std::string source;    // source line
};

struct Compiled {
  bool good = false;
  std::string message;  // the compiler's messages, with file names as the learner knows them
  double seconds = 0;
  // CPU: one, and where it starts threads a second one, in which their accesses are seen; CUDA: plain and traced.
  std::vector<std::filesystem::path> modules;
  std::vector<LoopNote> loops;          // for CPU code, if the compiler reports loops
  std::string loops_unknown;            // reason why there are none
  Ended::How how = Ended::How::exited;  // of the compiler
  std::string
      unwatched;  // of a file that starts threads: reason why its races are not looked for; empty if they are
  std::vector<std::string> includes;  // files that the source includes, but the system's
  std::string object;                 // digest of the machine code without debug information
};

struct CompileOptions {
  ProcessLimits limits{.seconds = 120, .bytes = 0};
  /// Wraps each command before it runs; empty: runs it unchanged.
  std::function<std::vector<std::string>(const std::vector<std::string>&)> wrap;
  bool watched = false;   // of a file that starts threads: also the form in which races are looked for
  bool lines = false;     // with line numbers, so that a crash can be located
  std::string automatic;  // "zero" or "pattern": what automatic variables hold before they are set
};

/// Compiles `source` for a step into `folder`; the two forms of a CUDA file are compiled in parallel. Throws
/// std::runtime_error if the commands of klab's own build are missing.
Compiled compile_work(const Step& step, const std::filesystem::path& source,
                      const std::filesystem::path& folder, const CompileOptions& options = {});

/// Splits a command line as the shell does: quotes and backslashes.
std::vector<std::string> split_command(const std::string& command);

/// Returns the loops of `file` in the output of -fopt-info-vec-optimized-missed. `source` is the file's text.
std::vector<LoopNote> loops_in(const std::string& opt_info, const std::string& file,
                               const std::string& source);

}  // namespace klab
