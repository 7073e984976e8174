#include "labs/radiance/run/apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Returns whether a run of that length exists already and is complete.
bool is_done(const fs::path& folder, const ApartRun& run) {
  std::error_code error;
  if (!fs::exists(folder / "result.json", error)) return false;
  const json r = read_json_file(folder / "result.json");
  if (!r.is_object() || r.value("interrupted", true) || !r.contains("score")) return false;
  return run.seconds > 0 ? r.value("seconds_training", 0.0) >= run.seconds
                         : r.value("steps", int64_t(0)) >= run.steps;
}

}  // namespace

int run_apart(const std::vector<std::string>& arguments, const fs::path& log, bool errors_too) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw std::runtime_error(std::string("no process can be started: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int to = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (getppid() != parent || to < 0 || dup2(to, STDOUT_FILENO) < 0) _exit(126);
    if (errors_too && dup2(to, STDERR_FILENO) < 0) _exit(126);
    if (arguments.front() == "klab")
      execv("/proc/self/exe", argv.data());
    else
      execvp(argv.front(), argv.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::runtime_error(std::string("waiting failed: ") + std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool train_apart(const fs::path& below, const ApartRun& run) {
  const fs::path folder = below / run.name, log = below / (run.name + ".log");
  if (is_done(folder, run)) {
    fmt::print("{:16} is there: {}\n", run.name, folder.string());
    return true;
  }
  std::error_code error;
  const bool begun = fs::exists(folder / "checkpoint.safetensors", error);
  std::vector<std::string> arguments = {"klab", "train"};
  if (begun) {
    arguments.insert(arguments.end(), {"--resume", folder.string()});
  } else {
    // Runs that are compared are scored alike, however fast each is.
    arguments.insert(arguments.end(), {run.scene, "--out", folder.string(), "--score", "all"});
    arguments.insert(arguments.end(), run.given.begin(), run.given.end());
  }
  const std::string length = run.seconds > 0 ? fmt::format("{}", run.seconds) : fmt::format("{}", run.steps);
  arguments.insert(arguments.end(), {run.seconds > 0 ? "--seconds" : "--steps", length});
  fmt::print("{:16} {} {} {}, log {}\n", run.name, begun ? "continues to" : "trains for", length,
             run.seconds > 0 ? "s" : "steps", log.string());
  std::fflush(stdout);
  const int code = run_apart(arguments, log);
  if (code == 130) stop_requested = true;
  if (code != 0 && !stop_requested)
    throw std::runtime_error(
        fmt::format("{} ended with exit code {}: its message is above, what it did is in {}", run.name, code,
                    log.string()));
  return !stop_requested;
}

}  // namespace klab
