// Runs of klab train in processes of their own: their peak memory is their own, and so is what they fail of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace klab {

/// Runs a command, its standard output in a file, with `errors_too` its standard error as well; the exit code. "klab" as its
/// first word is this program, anything else is looked for in PATH. The child ends with this process. Throws std::runtime_error
/// where no process can be started.
int run_apart(const std::vector<std::string>& arguments, const std::filesystem::path& log,
              bool errors_too = false);

/// A training to be had in a folder below another: `given` are the arguments of a new run after "klab train" and its scene, without
/// --out and its length.
struct ApartRun {
  std::string name;  // of the folder, and of the log beside it
  std::string scene;
  std::vector<std::string> given;
  double seconds = 0;  // or, where this is 0,
  int64_t steps = 0;
};

/// Trains it, goes on with what a killed process left, or leaves it where it is whole. False after an interruption. Throws
/// std::runtime_error naming the log where it fails.
bool train_apart(const std::filesystem::path& below, const ApartRun& run);

}  // namespace klab
