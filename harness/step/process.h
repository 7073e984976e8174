// Starts, watches and ends other programs: compilers and judges. None of them can take klab down with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace klab {

struct ProcessLimits {
  // Until the next line on the result channel, or until the end if there is no listener. Time in which it was ready to run and
  // had no processor does not count, up to nine times the limit.
  double seconds = 60;
  int64_t bytes = 0;  // resident memory of the process and its children together; 0: no limit
};

struct Ended {
  enum class How { exited, signalled, too_long, too_much_memory, cannot_start };
  How how = How::exited;
  int code = 0;            // exit code or signal
  std::string words;       // the first megabyte of its standard output and error
  double seconds = 0;      // wall time
  int64_t most_bytes = 0;  // peak resident memory; 0 if it was not measured
  bool good() const { return how == How::exited && code == 0; }
};

/// Called for each line that a process writes to file descriptor `result_channel`. Returns the limits from
/// now on.
using OnLine = std::function<ProcessLimits(const std::string& line)>;
inline constexpr int result_channel = 3;

/// Runs a program in its own process group, without standard input, and waits for it. At a limit the whole
/// group is killed; any remaining processes are killed when the program ends. `folder` is its working folder;
/// empty: the current one. `environment` adds "NAME=value" to the caller's.
Ended run_process(const std::vector<std::string>& command, const ProcessLimits& limits,
                  const OnLine& on_line = {}, const std::filesystem::path& folder = {},
                  const std::vector<std::string>& environment = {});

/// Returns "SIGSEGV" for 11, and "signal 99" for a signal without a name.
std::string signal_name(int signal);

/// Returns the path of this program.
std::filesystem::path own_program();

/// A temporary folder that is removed with the object.
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
