#include "harness/cli/program_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "harness/cli/machine_code.h"
#include "harness/core/source.h"
#include "harness/cuda_compiler/driver.h"
#include "harness/records/atomic_file.h"
#include "harness/simt/gpus.h"
#include "harness/step/process.h"

namespace klab {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

/// Returns all descendants of a process, including itself.
std::set<pid_t> descendants(pid_t root) {
  std::map<pid_t, pid_t> parents;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "stat");
    std::string text;
    std::getline(in, text);
    const size_t close = text.rfind(')');  // the name in parentheses may contain anything
    if (close == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + close + 1, " %c %d", &state, &parent) != 2 || state == 'Z') continue;
    parents[pid_t(std::atoi(name.c_str()))] = pid_t(parent);
  }
  std::set<pid_t> found = {root};
  for (bool more = true; more;) {
    more = false;
    for (const auto& [pid, parent] : parents)
      if (found.count(parent) == 1 && found.insert(pid).second) more = true;
  }
  return found;
}

int64_t resident(const std::set<pid_t>& all) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  int64_t total = 0;
  for (const pid_t pid : all) {
    int64_t size = 0, pages = 0;
    if (std::ifstream in("/proc/" + std::to_string(pid) + "/statm"); in >> size >> pages)
      total += pages * page;
  }
  return total;
}

int64_t most_memory() {
  const int64_t all = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return all / 4 * 3;
}

pid_t running_child = 0;
void pass_on(int signal) {
  if (running_child > 0) kill(-running_child, SIGKILL);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

/// Watches a process until its end, or ends it. Its children end with it: klab adopts orphans.
class Watched {
 public:
  Watched(pid_t child, const ProgramLimits& limits) : child_(child), limits_(limits) {
    if (limits_.bytes == 0) limits_.bytes = most_memory();
  }

  void wait(ProgramRun& run) {
    const auto begin = Clock::now();
    auto next_check = begin;
    for (;;) {
      int status = 0;
      const pid_t ended = waitpid(child_, &status, WNOHANG);
      run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (ended == child_) {
        if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
        if (WIFSIGNALED(status) && run.ended.empty())
          run.ended = "was ended by " + signal_name(WTERMSIG(status));
        if (WIFSIGNALED(status)) run.exit_code = 128 + WTERMSIG(status);
        break;
      }
      if (Clock::now() >= next_check) {
        next_check = Clock::now() + std::chrono::milliseconds(50);
        enforce_limits(run);
      }
      usleep(run.seconds < 0.2 ? 1000 : 10000);
    }
    end_all();
  }

 private:
  void enforce_limits(ProgramRun& run) {
    if (!run.ended.empty()) {
      if (++grace_ > 60) kill(-child_, SIGKILL);  // it had three seconds to write its report
      return;
    }
    const auto all = descendants(child_);
    if (run.seconds > limits_.seconds)
      run.ended = fmt::format("was ended after {:.0f} s; --seconds gives it more", limits_.seconds);
    else if (int(all.size()) > limits_.processes)
      run.ended = fmt::format("was ended: it had started {} processes", all.size() - 1);
    else if (const int64_t bytes = resident(all); bytes > limits_.bytes)
      run.ended = fmt::format("was ended: it took more than {} MB of memory; --memory gives it more",
                              limits_.bytes / 1'000'000);
    if (run.ended.empty()) return;
    if (int(all.size()) > limits_.processes)
      end_all();
    else
      kill(child_, SIGTERM);
  }

  void end_all() {
    kill(-child_, SIGKILL);
    for (int turn = 0; turn < 20; ++turn) {
      auto left = descendants(getpid());
      left.erase(getpid());
      for (const pid_t pid : left) kill(pid, SIGKILL);
      while (true) {
        int status = 0;
        siginfo_t info{};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            info.si_pid == child_)
          break;
        waitpid(info.si_pid, &status, WNOHANG);
      }
      if (left.empty()) return;
      usleep(2000);
    }
  }

  pid_t child_;
  ProgramLimits limits_;
  int grace_ = 0;
};

simt::Finding finding_of(const Json& j) {
  simt::Finding f;
  const std::string kind = j.at("kind");
  for (int k = 0; k <= int(simt::Kind::program); ++k)
    if (simt::name_of(simt::Kind(k)) == kind) f.kind = simt::Kind(k);
  f.kernel = j.at("kernel");
  for (size_t d = 0; d < 3; ++d) f.block[d] = j.at("block").at(d), f.thread[d] = j.at("thread").at(d);
  f.file = j.at("file");
  f.line = j.at("line");
  f.text = j.at("text");
  f.times = j.at("times");
  return f;
}

simt::LaunchRecord launch_of(const Json& j) {
  simt::LaunchRecord l{.kernel = j.at("kernel"),
                       .dynamic_shared = j.at("dynamic_shared"),
                       .static_shared = j.at("static_shared"),
                       .barriers = j.at("barriers"),
                       .thread_accesses = j.at("thread_accesses"),
                       .times = j.at("times")};
  for (size_t d = 0; d < 3; ++d) l.grid[d] = j.at("grid").at(d), l.block[d] = j.at("block").at(d);
  return l;
}

LineCounts line_of(const Json& j) {
  LineCounts l{.file = j.at("file"),
               .line = j.at("line"),
               .space = simt::Space(int(j.at("space"))),
               .write = j.at("write"),
               .atomic = j.at("atomic"),
               .async = j.at("async"),
               .width = j.at("width"),
               .stride = j.at("stride"),
               .returns = j.at("returns"),
               .merged = j.at("merged")};
  const auto counts = [](const Json& n) {
    return simt::Counts{n.at(0), n.at(1), n.at(2), n.at(3), n.at(4), n.at(5), n.at(6), n.at(7), n.at(8)};
  };
  l.counts = counts(j.at("counts"));
  l.compiled_known = j.at("compiled_known");
  l.compiled_widths = j.at("compiled_widths");
  l.compiled_atomics = j.at("compiled_atomics");
  l.compiled = counts(j.at("compiled"));
  return l;
}

void read_report(ProgramRun& run, const fs::path& file) {
  if (!fs::exists(file)) return;
  const Json j = Json::parse(read_text(file));
  run.reported = true;
  run.kernel_seconds = j.at("kernel_seconds");
  run.launched = j.at("launched");
  run.share = j.at("share");
  run.thinned_after = j.at("thinned_after");
  run.counted.seed = j.at("seed");
  run.counted.copied = j.at("copied_bytes");
  for (const Json& l : j.at("launches")) run.counted.launches.push_back(launch_of(l));
  for (const Json& l : j.at("lines")) run.counted.lines.push_back(line_of(l));
  for (const Json& f : j.at("findings")) run.counted.findings.push_back(finding_of(f));
  for (const LineCounts& l : run.counted.lines) run.counted.moved += 32.0 * double(l.counts.sectors);
}

std::string extension(const std::string& file) { return fs::path(file).extension(); }

bool is_source(const std::string& file) {
  const std::string e = extension(file);
  return e == ".cu" || e == ".cpp" || e == ".cc" || e == ".cxx" || e == ".c" || e == ".cuh";
}

/// Returns whether klab-nvcc built the program: it then contains the name of its runtime.
bool made_by_klab(const fs::path& program) {
  const std::string bytes = read_text(program);
  return bytes.find("libklab_cuda.so") != std::string::npos;
}

fs::path toolkit_folder() {
  fs::path top = cuda_compiler::toolkit();
  std::error_code error;
  // For a program of another project: use the installation of klab.
  if (top.empty() && fs::exists(klab_home() / "../../lib/klab/cuda/flags.txt", error))
    top = fs::canonical(klab_home() / "../../lib/klab/cuda");
  if (top.empty())
    throw std::invalid_argument(
        "klab's folder cuda/, with headers and runtime for CUDA programs, is not near this program; set "
        "KLAB_CUDA to it");
  return top;
}

fs::path compiled(const ProgramOptions& o, const fs::path& folder) {
  if (o.files.size() == 1 && !is_source(o.files[0])) {
    if (!made_by_klab(o.files[0]))
      throw std::invalid_argument(
          o.files[0] +
          ": a program without its source cannot be traced; make it with klab-nvcc, or "
          "give its .cu files");
    return fs::absolute(o.files[0]);
  }
  for (const std::string& f : o.files)
    if (!fs::exists(f)) throw std::invalid_argument(f + ": there is no such file");
  const fs::path program = folder / fs::path(o.files[0]).stem();
  std::vector<std::string> command = o.compiler;
  command.insert(command.end(), o.files.begin(), o.files.end());
  command.insert(command.end(), {"-o", program.string()});
  const cuda_compiler::Compilation made = cuda_compiler::compile(command, toolkit_folder());
  if (made.code != 0) throw std::invalid_argument(o.files[0] + " cannot be run on the host: see above");
  if (made.kernels == 0)
    throw std::invalid_argument(o.files[0] + ": no kernel in it (no __global__ function with a body)");
  return program;
}

/// Returns nvcc's machine code for the program's CUDA files, or the reason why there is none.
MachineCode machine_code(const ProgramOptions& o) {
  MachineCode none;
  if (!o.compiled) return none.why = "--no-compiled", none;
  std::vector<std::string> files;
  for (const std::string& f : o.files)
    if (extension(f) == ".cu") files.push_back(f);
  if (files.empty()) return none.why = "only .cu files given here are compiled by nvcc as well", none;
  return machine_code_of(files, o.compiler);
}

}  // namespace

bool ProgramRun::illegal() const {
  return !ended.empty() || !reported || std::ranges::any_of(counted.findings, [](const simt::Finding& f) {
    return f.kind != simt::Kind::leak;
  });
}

int64_t ProgramRun::accesses() const {
  int64_t n = 0;
  for (const LineCounts& l : counted.lines) n += l.counts.lanes;
  return n;
}

bool is_program(const std::string& name) {
  std::error_code error;
  if (is_source(name)) return true;
  return fs::is_regular_file(name, error) && access(name.c_str(), X_OK) == 0;
}

ProgramRun run_program(const ProgramOptions& o, bool quiet) {
  const ScratchFolder folder;
  const fs::path program = compiled(o, folder.path()), report = folder.path() / "report.json";
  ProgramRun run;
  const MachineCode machine = machine_code(o);
  const fs::path code = folder.path() / "machine_code.txt";
  if (machine.why.empty()) write_file(code, machine.text);
  run.counted.no_compiled = machine.why;
  run.counted.compiled_by = machine.code.made_by;
  run.name = o.files[0];
  run.counted.variant = fs::path(o.files[0]).filename();
  std::vector<std::string> command = {program.string()};
  command.insert(command.end(), o.arguments.begin(), o.arguments.end());
  std::vector<std::string> environment = {"KLAB_PROGRAM_REPORT=" + report.string(),
                                          fmt::format("KLAB_PROGRAM_SHARE={}", o.share),
                                          fmt::format("KLAB_PROGRAM_SEED={}", o.seed),
                                          fmt::format("KLAB_PROGRAM_STOP_AT_FIRST={}", int(o.stop_at_first)),
                                          std::string("KLAB_GPU=") + simt::named_gpu().short_name,
                                          "KLAB_PROGRAM_FINDINGS=ignore"};
  if (o.limit >= 0) environment.push_back(fmt::format("KLAB_PROGRAM_LIMIT={}", o.limit));
  if (o.threads > 0) environment.push_back(fmt::format("KLAB_PROGRAM_THREADS={}", o.threads));
  if (machine.why.empty()) environment.push_back("KLAB_PROGRAM_COMPILED=" + code.string());
  std::vector<char*> argv, envp;
  for (const std::string& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  for (const std::string& e : environment) envp.push_back(const_cast<char*>(e.c_str()));
  for (char** e = environ; *e != nullptr; ++e) envp.push_back(*e);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (quiet) posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  std::fflush(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::invalid_argument(o.files[0] + ": cannot be started: " + std::strerror(error));
  running_child = child;
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::signal(s, pass_on);
  Watched(child, o.limits).wait(run);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::signal(s, SIG_DFL);
  running_child = 0;
  read_report(run, report);
  run.local = local_memory_of(machine.code, run.counted.launches);
  run.units = unit_instructions_of(machine.code, run.counted.launches);
  return run;
}

}  // namespace klab
