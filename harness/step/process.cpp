#include "harness/step/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace klab {
namespace {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostWords = 1 << 20;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_write();
    if (read >= 0) close(read);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
};

/// Calls visit(folder in /proc) for each process of a group.
void each_process(pid_t group, auto&& visit) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (getpgid(pid_t(std::atoi(name.c_str()))) == group) visit(entry.path());
  }
}

/// Returns the resident bytes of all processes of a group.
int64_t resident_bytes(pid_t group) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  int64_t total = 0;
  each_process(group, [&](const fs::path& process) {
    int64_t size = 0, resident = 0;
    if (std::ifstream in(process / "statm"); in >> size >> resident) total += resident * page;
  });
  return total;
}

/// Returns the seconds that the thread of a group that waited longest was ready to run and had no processor
/// (Documentation/scheduler/sched-stats of Linux); 0 where the kernel does not say.
double seconds_without_processor(pid_t group) {
  double most = 0;
  each_process(group, [&](const fs::path& process) {
    std::error_code error;
    for (const auto& thread : fs::directory_iterator(process / "task", error)) {
      double ran = 0, waited = 0;
      if (std::ifstream in(thread.path() / "schedstat"); in >> ran >> waited)
        most = std::max(most, waited * 1e-9);
    }
  });
  return most;
}

class Running {
 public:
  Running(pid_t child, Pipe& words, Pipe& lines, const ProcessLimits& limits, const OnLine& on_line)
      : child_(child), words_(words), lines_(lines), limits_(limits), on_line_(on_line) {}

  Ended wait() {
    set_deadline();
    while (!over()) listen();
    // Processes that it started may still run and hold the pipes open.
    kill(-child_, SIGKILL);
    drain();
    ended_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    return std::move(ended_);
  }

 private:
  static Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  bool over() {
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) == child_) {
      if (stopped_) return true;
      ended_.how = WIFEXITED(status) ? Ended::How::exited : Ended::How::signalled;
      ended_.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
      return true;
    }
    if (stopped_) return false;
    if (Clock::now() >= deadline_ && !waits_for_processor()) stop(Ended::How::too_long);
    if (limits_.bytes > 0 && Clock::now() >= next_look_) {
      const int64_t now = resident_bytes(child_);
      ended_.most_bytes = std::max(ended_.most_bytes, now);
      if (now > limits_.bytes) stop(Ended::How::too_much_memory);
      next_look_ = after(0.03);
    }
    return false;
  }

  /// Next to busy neighbors a process is not slow, it waits: that time is added to the limit, up to nine times the limit.
  bool waits_for_processor() {
    const double waited = seconds_without_processor(child_), more = waited - credited_;
    if (more < 0.05 * limits_.seconds || Clock::now() > last_deadline_) return false;
    credited_ = waited;
    deadline_ = std::min(after(more), last_deadline_);
    return true;
  }

  void set_deadline() {
    deadline_ = after(limits_.seconds);
    last_deadline_ = after(10 * limits_.seconds);
  }

  void stop(Ended::How how) {
    ended_.how = how;
    stopped_ = true;
    kill(-child_, SIGKILL);
  }

  void listen() {
    std::array<pollfd, 2> list{pollfd{words_.read, POLLIN, 0}, pollfd{lines_.read, POLLIN, 0}};
    poll(list.data(), 2, 10);
    take();
    // Both pipes are closed: only wait for its end.
    if ((list[0].revents & POLLHUP) != 0 && (list[1].revents & POLLHUP) != 0) usleep(1000);
  }

  /// Reads the contents of the pipes without blocking.
  bool take() {
    bool any = false;
    std::array<char, 1 << 14> part{};
    // Bound the number of reads, so that endless output does not prevent the time check.
    ssize_t n = 0;
    for (int turn = 0; turn < 64 && (n = ::read(words_.read, part.data(), part.size())) > 0;
         ++turn, any = true) {
      const size_t room = kMostWords - std::min(kMostWords, ended_.words.size());
      ended_.words.append(part.data(), std::min(size_t(n), room));
    }
    for (; (n = ::read(lines_.read, part.data(), part.size())) > 0; any = true)
      if (pending_.size() < kMostWords) pending_.append(part.data(), size_t(n));
    for (size_t end; (end = pending_.find('\n')) != std::string::npos;) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      if (!on_line_) continue;
      limits_ = on_line_(line);
      set_deadline();
    }
    return any;
  }

  void drain() {
    while (take() && Clock::now() < deadline_) {
    }
  }

  pid_t child_;
  Pipe& words_;
  Pipe& lines_;
  ProcessLimits limits_;
  const OnLine& on_line_;
  Ended ended_;
  bool stopped_ = false;
  std::string pending_;
  double credited_ = 0;  // seconds of waiting that have been added to a limit
  Clock::time_point begin_ = Clock::now(), deadline_, last_deadline_, next_look_ = begin_;
};

}  // namespace

Ended run_process(const std::vector<std::string>& command, const ProcessLimits& limits, const OnLine& on_line,
                  const fs::path& folder, const std::vector<std::string>& environment) {
  Pipe words, lines;
  for (const int end : {words.read, lines.read}) fcntl(end, F_SETFL, O_NONBLOCK);
  std::vector<char*> argv, envp;
  for (const std::string& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  // The first entry of a name takes effect.
  for (const std::string& e : environment) envp.push_back(const_cast<char*>(e.c_str()));
  for (char** e = environ; *e != nullptr; ++e) envp.push_back(*e);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, words.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, words.write, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, lines.write, result_channel);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return {
        .how = Ended::How::cannot_start, .code = error, .words = command[0] + ": " + std::strerror(error)};
  words.close_write();
  lines.close_write();
  return Running(child, words, lines, limits, on_line).wait();
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

fs::path own_program() { return fs::read_symlink("/proc/self/exe"); }

namespace {

constexpr const char* kScratch = "klab_step_";  // followed by the process id and six letters

/// Removes the folders of killed processes. Other users' folders cannot be removed, and those of live
/// processes are kept.
void sweep() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kScratch)) continue;
    const long owner = std::strtol(name.c_str() + std::strlen(kScratch), nullptr, 10);
    if (owner > 0 && kill(pid_t(owner), 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  sweep();
  std::string form = (fs::temp_directory_path() / kScratch).string() + std::to_string(getpid()) + "_XXXXXX";
  if (mkdtemp(form.data()) == nullptr)
    throw std::runtime_error(form + ": cannot make a folder: " + std::strerror(errno));
  path_ = form;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace klab
