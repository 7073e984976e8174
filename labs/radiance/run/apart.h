// Runs klab train in a separate process: it has a peak memory of its own, and its failure ends nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab {

/// Runs a command with its standard output in a file, with `errors_too` also its standard error. Returns the
/// exit code. "klab" as its first word is this program; anything else is searched in PATH. The child ends
/// with this process. Throws std::runtime_error if no process can be started.
int run_apart(const std::vector<std::string>& arguments, const std::filesystem::path& log,
              bool errors_too = false);

/// A training in a folder of its own: `given` are the arguments of a new run after "klab train" and its
/// scene, without --out and its length.
struct ApartRun {
  std::string name;  // of the folder, and of the log next to it
  std::string scene;
  std::vector<std::string> given;
  double seconds = 0;  // length; if 0:
  int64_t steps = 0;
};

/// Trains it, resumes a run that was killed, or keeps a complete one. Returns false after an interruption.
/// Throws std::runtime_error naming the log if it fails.
bool train_apart(const std::filesystem::path& below, const ApartRun& run);

}  // namespace klab
