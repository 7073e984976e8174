#include "harness/step/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/core/source.h"
#include "harness/step/process.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

// Access rights added by later versions of Landlock than the installed headers may know (linux/landlock.h).
constexpr uint64_t kRefer = 1ULL << 13, kTruncate = 1ULL << 14, kIoctl = 1ULL << 15;
constexpr uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kFirstVersion = (1ULL << 13) - 1;

int landlock_version() {
  return int(syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("cannot confine what is to be run: " + what + ": " + strerror(errno));
}

class Ruleset {
 public:
  Ruleset() {
    const int version = landlock_version();
    if (version < 1) fail("Landlock");
    handled_ = kFirstVersion | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0) |
               (version >= 5 ? kIoctl : 0);
    landlock_ruleset_attr attributes{};
    attributes.handled_access_fs = handled_;
    fd_ = int(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    if (fd_ < 0) fail("landlock_create_ruleset");
  }
  ~Ruleset() { close(fd_); }
  Ruleset(const Ruleset&) = delete;
  Ruleset& operator=(const Ruleset&) = delete;

  /// Allows access to a path. A missing path needs no rule.
  void allow(const fs::path& path, uint64_t rights) {
    const int at = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (at < 0) return;
    struct stat status {};
    const bool folder = fstat(at, &status) == 0 && S_ISDIR(status.st_mode);
    constexpr uint64_t of_files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                  LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctl;
    landlock_path_beneath_attr rule{};
    rule.allowed_access = rights & handled_ & (folder ? ~0ULL : of_files);
    rule.parent_fd = at;
    const auto failed = syscall(SYS_landlock_add_rule, fd_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(at);
    if (failed != 0) fail(path.string());
  }

  void enforce() const {
    if (syscall(SYS_landlock_restrict_self, fd_, 0) != 0) fail("landlock_restrict_self");
  }

 private:
  int fd_ = -1;
  uint64_t handled_ = 0;
};

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

/// A seccomp program that allows all system calls except those denied by number.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    // The x32 numbering would bypass the filter.
    add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
#endif
  }

  void deny(long call, int error = EPERM) {
    add(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(call), 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | uint32_t(error));
  }
  /// Denies the call unless these bits of the first argument are set.
  void deny_without_flags(long call, uint32_t flags) {
    add(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(call), 0, 4);
    load(argument(0));
    add(BPF_JMP | BPF_JSET | BPF_K, flags, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    load(offsetof(seccomp_data, nr));
  }
  /// Denies the call unless the first argument equals the value.
  void deny_unless_first(long call, uint32_t value) {
    add(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(call), 0, 4);
    load(argument(0));
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    load(offsetof(seccomp_data, nr));
  }

  /// Installs the filter. `all_threads` includes existing threads.
  void install(bool all_threads) {
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                &program) != 0)
      fail("seccomp");
  }

 private:
  static uint32_t argument(size_t k) {
    return uint32_t(offsetof(seccomp_data, args) + 8 * k);
  }  // the lower half
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, uint32_t(offset)); }
  void add(int what, uint32_t k, uint8_t if_true = 0, uint8_t if_false = 0) {
    code_.push_back({static_cast<uint16_t>(what), if_true, if_false, k});
  }
  std::vector<sock_filter> code_;
};

void no_new_rights() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("PR_SET_NO_NEW_PRIVS");
}

void limit(decltype(RLIMIT_CORE) what, rlim_t most) {
  const rlimit bounds{most, most};
  setrlimit(what, &bounds);
}

}  // namespace

std::string why_no_sandbox() {
  if (kArchitecture == 0) return "klab confines on x86-64 and ARM only";
  if (landlock_version() < 1)
    return std::string("this kernel has no Landlock (Linux 5.13 or newer, with landlock among its lsm=): ") +
           strerror(errno);
  // Probe with an invalid filter: EFAULT means that seccomp is available.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) != -1 || errno != EFAULT)
    return std::string("this kernel has no seccomp filters: ") + strerror(errno);
  return "";
}

Confinement confinement_for(const fs::path& writable) {
  Confinement c{.writable = writable, .readable = {}};
  for (const char* path :
       {"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
        "/etc/alternatives", "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup",
        "/sys/kernel/mm/transparent_hugepage", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
        "/proc/sys/vm/overcommit_memory", "/dev/null", "/dev/zero", "/dev/urandom"})
    c.readable.emplace_back(path);
  // The program, its modules, and the inputs of its build: a lab's own program is in labs/NN.
  fs::path built = own_program().parent_path();
  for (fs::path above = built; above.has_relative_path(); above = above.parent_path())
    if (fs::exists(above / "compile_commands.json")) {
      built = above;
      break;
    }
  c.readable.push_back(built);
  // Contracts and headers, but neither klab's rungs nor the work folder.
  const fs::path root = source_root();
  for (const char* folder : {"reference", "harness", "kernels/common"}) {
    c.readable.push_back(root / folder);
    if (klab_home() != root) c.readable.push_back(klab_home() / folder);
  }
  return c;
}

void confine(const Confinement& what) {
  if (const std::string lacks = why_no_sandbox(); !lacks.empty())
    throw std::runtime_error("cannot confine what is to be run: " + lacks);
  no_new_rights();
  Ruleset rules;
  for (const fs::path& path : what.readable) rules.allow(path, kRead);
  for (const char* device : {"/dev/null", "/dev/zero"})
    rules.allow(device, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
  // Only this process's own entry, so that other processes stay invisible.
  rules.allow("/proc/" + std::to_string(getpid()),
              LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
  constexpr uint64_t all = kFirstVersion | kRefer | kTruncate;
  constexpr uint64_t special = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                               LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO;
  rules.allow(what.writable, all & ~special);
  rules.enforce();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 256 << 20);
  Filter filter;
  for (const long call : {SYS_socket,
                          SYS_socketpair,
                          SYS_ptrace,
                          SYS_process_vm_readv,
                          SYS_process_vm_writev,
                          SYS_setsid,
                          SYS_setpgid,
                          SYS_unshare,
                          SYS_setns,
                          SYS_mount,
                          SYS_bpf,
                          SYS_io_uring_setup,
                          SYS_keyctl,
                          SYS_add_key,
                          SYS_request_key,
                          SYS_userfaultfd,
                          SYS_perf_event_open,
                          SYS_shmget,
                          SYS_shmat,
                          SYS_msgget,
                          SYS_semget,
                          SYS_mq_open})
    filter.deny(call);
  filter.install(false);
}

void forbid_processes() {
  no_new_rights();
  Filter filter;
  for (const long call :
       {SYS_execve, SYS_execveat, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
        SYS_pidfd_open, SYS_pidfd_send_signal, SYS_sched_setaffinity, SYS_setpriority})
    filter.deny(call);
#if defined(__x86_64__)
  filter.deny(SYS_fork);
  filter.deny(SYS_vfork);
#endif
  // Threads are created by clone. clone3's flags cannot be inspected, and the C library works without it.
  filter.deny(SYS_clone3, ENOSYS);
  filter.deny_without_flags(SYS_clone, CLONE_THREAD);
  filter.deny_unless_first(SYS_tgkill, uint32_t(getpid()));
  filter.deny_unless_first(SYS_prlimit64, 0);
  filter.install(true);
}

std::vector<std::string> confined_command(const fs::path& klab, const fs::path& folder,
                                          const std::vector<std::string>& command) {
  static std::atomic<int> number{0};
  const fs::path plan = folder / ("confined_" + std::to_string(++number) + ".json");
  std::ofstream(plan) << nlohmann::json{{"folder", folder.string()}, {"command", command}}.dump();
  return {klab.string(), "step", "--confine", plan.string()};
}

void become_confined(const fs::path& plan) {
  const auto j = nlohmann::json::parse(read_text(plan));
  const std::string folder = j.at("folder");
  std::vector<std::string> command = j.at("command");
  if (command.empty()) throw std::runtime_error(plan.string() + " names no program");
  std::vector<char*> argv;
  for (std::string& part : command) argv.push_back(part.data());
  argv.push_back(nullptr);
  confine(confinement_for(folder));
  execvp(argv[0], argv.data());
  fail(command.front() + " cannot be started");
}

}  // namespace klab
