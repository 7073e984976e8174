// Other programs, started, watched and ended: compilers and judges. None of them can take klab along.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace klab {

struct ProcessLimits {
  double seconds = 60;  // until the next line on the result channel, or until the end where nobody listens
  int64_t bytes = 0;    // resident, the process and what it starts together; 0: no limit
};

struct Ended {
  enum class How { exited, signalled, too_long, too_much_memory, cannot_start };
  How how = How::exited;
  int code = 0;            // exit code or signal
  std::string words;       // what it wrote to standard output and error, the first megabyte
  double seconds = 0;      // wall time
  int64_t most_bytes = 0;  // seen resident at once; 0 when nobody asked
  bool good() const { return how == How::exited && code == 0; }
};

/// What a process reports while it runs: a line it wrote to file descriptor `result_channel`. Returns the limits that
/// hold from now on.
using OnLine = std::function<ProcessLimits(const std::string& line)>;
inline constexpr int result_channel = 3;

/// Runs a program in a process group of its own, without standard input, and waits for it. At a limit the whole group
/// is killed; so is what is left of it when the process ends. `folder`: where it runs; empty: here. `environment`:
/// "NAME=value" beside the caller's.
Ended run_process(const std::vector<std::string>& command, const ProcessLimits& limits,
                  const OnLine& on_line = {}, const std::filesystem::path& folder = {},
                  const std::vector<std::string>& environment = {});

/// "SIGSEGV" for 11; "signal 99" for what has no name.
std::string signal_name(int signal);

/// This program.
std::filesystem::path own_program();

/// A folder of its own for one purpose, gone with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace klab
