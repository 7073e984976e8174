#include "harness/check/process_state.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <fmt/core.h>
#include <locale.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>

#include "harness/core/tile_unit.h"

extern char** environ;

namespace klab {

/// The registers that say how floating-point operations round, flush and trap.
struct Arithmetic {
  uint64_t control = 0;  // MXCSR, FPCR
  uint16_t x87 = 0;
  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

namespace {

#if defined(__x86_64__)
constexpr uint64_t kFlags = 0x3F;  // sticky: every inexact result sets them
constexpr uint64_t kFlush = 0x8000, kDenormalsAreZero = 0x40, kRounding = 0x6000, kTraps = 0x1F80;
Arithmetic arithmetic() {
  uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return {__builtin_ia32_stmxcsr() & ~kFlags, x87};
}
void set(const Arithmetic& a) {
  __builtin_ia32_ldmxcsr(unsigned(a.control));
  __asm__ volatile("fldcw %0" : : "m"(a.x87));
}
#elif defined(__aarch64__)
constexpr uint64_t kFlush = 1 << 24, kDenormalsAreZero = 1 << 19, kRounding = 3 << 22, kTraps = 0x9F00;
Arithmetic arithmetic() {
  uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return {control, 0};
}
void set(const Arithmetic& a) { __asm__ volatile("msr fpcr, %0" : : "r"(a.control)); }
#else
constexpr uint64_t kFlush = 0, kDenormalsAreZero = 0, kRounding = ~uint64_t(0), kTraps = 0;
Arithmetic arithmetic() { return {uint64_t(fegetround()), 0}; }
void set(const Arithmetic& a) { fesetround(int(a.control)); }
#endif

std::string rounding_name() {
  switch (fegetround()) {
    case FE_TONEAREST:
      return "to nearest";
    case FE_UPWARD:
      return "upward";
    case FE_DOWNWARD:
      return "downward";
    case FE_TOWARDZERO:
      return "toward zero";
  }
  return "unknown";
}

/// What of it differs, in words.
std::vector<std::string> differences(const Arithmetic& was, const Arithmetic& is) {
  std::vector<std::string> list;
  const uint64_t changed = was.control ^ is.control;
  const auto on = [&](uint64_t bit) { return is.control & bit ? "on" : "off"; };
  if (changed & kRounding) {
    const Arithmetic now = arithmetic();
    set(is);
    list.push_back("the rounding mode, now " + rounding_name());
    set(now);
  }
  if (changed & kFlush) list.push_back(fmt::format("flush-to-zero, now {}", on(kFlush)));
  if (changed & kDenormalsAreZero)
    list.push_back(fmt::format("denormals-are-zero, now {}", on(kDenormalsAreZero)));
  if (changed & kTraps) list.emplace_back("which floating-point exceptions trap");
  if (changed & ~(kRounding | kFlush | kDenormalsAreZero | kTraps))
    list.emplace_back("another bit of the floating-point control register");
  if (was.x87 != is.x87) list.emplace_back("the control word of the x87 unit (its rounding or precision)");
  return list;
}

std::string working_folder() {
  std::array<char, 4096> text{};
  return getcwd(text.data(), text.size()) == nullptr ? "" : text.data();
}

std::vector<std::string> environment() {
  std::vector<std::string> list;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) list.emplace_back(*e);
  return list;
}

bool environment_is(const std::vector<std::string>& list) {
  size_t k = 0;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e, ++k)
    if (k >= list.size() || list[k] != *e) return false;
  return k == list.size();
}

std::map<std::string, std::string> by_name(const std::vector<std::string>& list) {
  std::map<std::string, std::string> map;
  for (const std::string& entry : list) {
    const size_t at = entry.find('=');
    map[entry.substr(0, at)] = at == std::string::npos ? "" : entry.substr(at + 1);
  }
  return map;
}

constexpr int kHandledSignals = 64;

std::string name_of_signal(int s) {
  const char* name = sigabbrev_np(s);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", s);
}

constexpr int kTimers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
using Timers = std::array<itimerval, std::size(kTimers)>;

Timers timers() {
  Timers list{};
  for (size_t k = 0; k < list.size(); ++k) getitimer(__itimer_which_t(kTimers[k]), &list[k]);
  return list;
}

bool is_set(const itimerval& timer) { return (timer.it_value.tv_sec | timer.it_value.tv_usec) != 0; }

std::string path_of(int file) {
  std::array<char, 4096> text{};
  const auto length = readlink(fmt::format("/proc/self/fd/{}", file).c_str(), text.data(), text.size() - 1);
  return length > 0 ? std::string(text.data(), size_t(length)) : fmt::format("number {}", file);
}

/// The mask of permissions that new files get. There is no call that only reads it.
mode_t file_mask() {
  const mode_t mask = umask(022);
  umask(mask);
  return mask;
}

struct NamedLimit {
  decltype(RLIMIT_CORE) which;
  const char* name;
};
constexpr NamedLimit kLimits[] = {
    {RLIMIT_AS, "address space"},  {RLIMIT_CORE, "core files"}, {RLIMIT_CPU, "processor time"},
    {RLIMIT_DATA, "data"},         {RLIMIT_FSIZE, "file size"}, {RLIMIT_MEMLOCK, "locked memory"},
    {RLIMIT_NOFILE, "open files"}, {RLIMIT_NPROC, "processes"}, {RLIMIT_STACK, "stack"}};
using Limits = std::array<rlimit, std::size(kLimits)>;

Limits limits() {
  Limits list{};
  for (size_t k = 0; k < list.size(); ++k) getrlimit(kLimits[k].which, &list[k]);
  return list;
}

int nice_value() { return getpriority(PRIO_PROCESS, 0); }

/// How many times this process has asked for another nice value.
std::atomic<int> nice_requests{0};

/// Whether the process may take a better priority, or raise limits, whatever it has now.
bool may_undo_anything() { return geteuid() == 0; }

bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0;
}

// The C library sets this flag, which its headers do not name, whenever it sets a handler.
constexpr int kRestorer = 0x04000000;

bool same(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_handler == b.sa_handler && (a.sa_flags & ~kRestorer) == (b.sa_flags & ~kRestorer);
}

}  // namespace

struct ProcessState::Outside {
  cpu_set_t cores{};
  int nice = nice_value(), policy = sched_getscheduler(0);
  sched_param priority{};
  Limits limit = limits();
  int requests = nice_requests;

  Outside() {
    sched_getaffinity(0, sizeof cores, &cores);
    sched_getparam(0, &priority);
  }
};

struct ProcessState::Parts {
  Arithmetic registers = arithmetic();
  sigset_t mask{};
  std::array<struct sigaction, kHandledSignals + 1> handlers{};
  std::string locale = setlocale(LC_ALL, nullptr);
  locale_t thread_locale = uselocale(nullptr);
  int dynamic = omp_get_dynamic(), levels = omp_get_max_active_levels();
  omp_sched_t schedule{};
  int chunk = 0;
  std::string folder = working_folder();
  std::vector<std::string> variables = environment();
  Timers timer = timers();
  Outside outside;
  mode_t mask_of_files = file_mask();
  bool children = has_children();
  stack_t signal_stack{};
  bool tiles = holds_tiles();

  std::vector<std::string> rare_changes() const;
  /// "the nice value (0, now 5)", or "".
  std::string nice_change() const;
  void put_outside() const;
};

std::string ProcessState::Parts::nice_change() const {
  const int now = nice_value();
  return now == outside.nice ? "" : fmt::format("the nice value ({}, now {})", outside.nice, now);
}

/// Leaves what this process could not undo: a better priority that it was given, a limit that was raised for it.
void ProcessState::Parts::put_outside() const {
  sched_setaffinity(0, sizeof outside.cores, &outside.cores);
  if (sched_getscheduler(0) != outside.policy) sched_setscheduler(0, outside.policy, &outside.priority);
  const int nice = nice_value();
  if (nice > outside.nice || (nice < outside.nice && may_undo_anything()))
    setpriority(PRIO_PROCESS, 0, outside.nice);
  const Limits now = limits();
  for (size_t k = 0; k < now.size(); ++k)
    if (now[k].rlim_max <= outside.limit[k].rlim_max || may_undo_anything())
      setrlimit(kLimits[k].which, &outside.limit[k]);
}

/// What costs more to ask for than a small kernel takes.
std::vector<std::string> ProcessState::Parts::rare_changes() const {
  std::vector<std::string> list;
  if (file_mask() != mask_of_files) list.emplace_back("the mask of permissions of new files");
  if (!children && has_children()) list.emplace_back("a process that it started");
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  if (stack.ss_sp != signal_stack.ss_sp) list.emplace_back("the stack of signal handlers");
  if (holds_tiles() && !tiles) list.emplace_back("tiles that it has not released");
  return list;
}

ProcessState::ProcessState() : parts_(std::make_unique<Parts>()) {
  Parts& p = *parts_;
  pthread_sigmask(SIG_SETMASK, nullptr, &p.mask);
  for (int s = 1; s <= kHandledSignals; ++s) sigaction(s, nullptr, &p.handlers[size_t(s)]);
  omp_get_schedule(&p.schedule, &p.chunk);
  sigaltstack(nullptr, &p.signal_stack);
}

ProcessState::~ProcessState() = default;

std::vector<std::string> ProcessState::changes(int threads, bool all) const {
  const Parts& p = *parts_;
  std::vector<std::string> list = differences(p.registers, arithmetic());
  sigset_t mask{};
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int s = 1; s <= kHandledSignals; ++s) {
    struct sigaction now {};
    if (all && sigaction(s, nullptr, &now) == 0 && !same(now, p.handlers[size_t(s)]))
      list.push_back("the handler of " + name_of_signal(s));
    if (sigismember(&mask, s) != sigismember(&p.mask, s))
      list.push_back("whether " + name_of_signal(s) + " is blocked");
  }
  if (const char* now = setlocale(LC_ALL, nullptr); p.locale != now || uselocale(nullptr) != p.thread_locale)
    list.push_back(fmt::format("the locale, now \"{}\"", now));
  if (omp_get_max_threads() != threads)
    list.push_back(fmt::format("OpenMP's number of threads ({}, now {})", threads, omp_get_max_threads()));
  if (omp_get_dynamic() != p.dynamic) list.emplace_back("whether OpenMP adjusts its number of threads");
  if (omp_get_max_active_levels() != p.levels) list.emplace_back("how deep OpenMP nests");
  omp_sched_t schedule{};
  int chunk = 0;
  omp_get_schedule(&schedule, &chunk);
  if (schedule != p.schedule || chunk != p.chunk) list.emplace_back("OpenMP's default schedule");
  if (const std::string now = working_folder(); now != p.folder)
    list.push_back(fmt::format("the working directory, now {}", now));
  if (!environment_is(p.variables)) {
    const auto was = by_name(p.variables), is = by_name(environment());
    for (const auto& [name, value] : is)
      if (!was.contains(name) || was.at(name) != value) list.push_back("the environment variable " + name);
    for (const auto& [name, value] : was)
      if (!is.contains(name)) list.push_back("the environment variable " + name + ", now unset");
  }
  const Timers timer = timers();
  for (size_t k = 0; k < timer.size(); ++k)
    if (is_set(timer[k]) && !is_set(p.timer[k])) list.emplace_back("an alarm that is set");
  if (nice_requests != p.outside.requests)
    if (const std::string change = p.nice_change(); !change.empty()) list.push_back(change);
  if (all)
    for (std::string& change : p.rare_changes()) list.push_back(std::move(change));
  for (std::string& change : outside_changes(all)) list.push_back(std::move(change));
  if (list.empty()) parts_->outside.requests = nice_requests;
  return list;
}

std::vector<std::string> ProcessState::outside_changes(bool all) const {
  const Outside& was = parts_->outside;
  std::vector<std::string> list;
  if (nice_requests == was.requests)
    if (const std::string change = parts_->nice_change(); !change.empty()) list.push_back(change);
  cpu_set_t cores{};
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 && !CPU_EQUAL(&cores, &was.cores))
    list.emplace_back("on which cores the calling thread may run");
  if (!all) return list;
  const Limits limit_now = limits();
  for (size_t k = 0; k < limit_now.size(); ++k)
    if (limit_now[k].rlim_cur != was.limit[k].rlim_cur || limit_now[k].rlim_max != was.limit[k].rlim_max)
      list.push_back(std::string("the process's limit of ") + kLimits[k].name);
  if (sched_getscheduler(0) != was.policy) list.emplace_back("how the calling thread is scheduled");
  return list;
}

std::shared_ptr<const ProcessState::Outside> ProcessState::outside_now() const {
  return std::make_shared<const Outside>();
}

void ProcessState::adopt_outside(const Outside& values) {
  parts_->outside = values;
  parts_->put_outside();
  parts_->outside = Outside();
}

void ProcessState::restore(int threads) const {
  const Parts& p = *parts_;
  set(p.registers);
  if (!p.tiles) release_tiles();
  for (size_t k = 0; k < p.timer.size(); ++k) setitimer(__itimer_which_t(kTimers[k]), &p.timer[k], nullptr);
  for (int s = 1; s <= kHandledSignals; ++s) {
    struct sigaction now {};
    if (sigaction(s, nullptr, &now) == 0 && !same(now, p.handlers[size_t(s)]))
      sigaction(s, &p.handlers[size_t(s)], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &p.mask, nullptr);
  setlocale(LC_ALL, p.locale.c_str());
  uselocale(p.thread_locale);
  omp_set_num_threads(threads);
  omp_set_dynamic(p.dynamic);
  omp_set_max_active_levels(p.levels);
  omp_set_schedule(p.schedule, p.chunk);
  if (!p.folder.empty() && working_folder() != p.folder && chdir(p.folder.c_str()) != 0)
    fmt::print(stderr, "klab: cannot go back to {}: {}\n", p.folder, std::strerror(errno));
  if (!environment_is(p.variables)) {
    for (const auto& [name, value] : by_name(environment())) unsetenv(name.c_str());
    for (const auto& [name, value] : by_name(p.variables)) setenv(name.c_str(), value.c_str(), 1);
  }
  // Raising the priority again, or a limit, takes rights that the process may lack. What cannot be put back is named once more
  // by the next check.
  p.put_outside();
  parts_->outside.requests = nice_requests;
  umask(p.mask_of_files);
  sigaltstack(&p.signal_stack, nullptr);
  while (!p.children && waitpid(-1, nullptr, WNOHANG) > 0) continue;
}

int next_file() {
  static std::atomic<int> usual{-1};
  // A thread that begins or ends may hold a file for a moment, since malloc counts the processors: then look again.
  int next = -1;
  for (int look = 0; look < 20; ++look) {
    if (look > 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
    next = dup(STDERR_FILENO);
    if (next >= 0) close(next);
    if (next < 0 || usual < 0 || next <= usual) break;
  }
  usual = next;
  return next;
}

std::string file_left(int before) {
  const int now = next_file();
  if (before < 0 || now <= before) return "";
  // Another thread of this process may hold it for a moment: only one that stays is left.
  for (int look = 0; look < 50; ++look) {
    if (fcntl(before, F_GETFD) == -1) return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const std::string path = path_of(before);
  close(before);
  return "a file is left open: " + path;
}

int file_closed(int before) {
  const int now = next_file();
  return before >= 0 && now >= 0 && now < before ? now : -1;
}

bool replace_file(int number) {
  const int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (other < 0 || other == number) return other == number;
  const bool done = fcntl(number, F_GETFD) == -1 && dup2(other, number) == number;
  close(other);
  return done;
}

std::string mend_arithmetic_of_workers(int threads) {
  if (threads < 2) return "";
  const Arithmetic mine = arithmetic();
  Arithmetic other = mine;
#pragma omp parallel num_threads(threads)
  if (const Arithmetic its = arithmetic(); its != mine) {
#pragma omp critical(klab_arithmetic_of_workers)
    other = its;
    set(mine);
  }
  const auto list = differences(mine, other);
  return list.empty() ? "" : "of a worker thread " + list.front();
}

std::string release_tiles_of_workers(int threads) {
  if (threads < 2) return "";
  bool held = false;
#pragma omp parallel num_threads(threads) reduction(|| : held)
  if (omp_get_thread_num() > 0 && holds_tiles()) {
    held = true;
    release_tiles();
  }
  return held ? "tiles that a worker thread has not released" : "";
}

}  // namespace klab

// The C library's functions that change the nice value, so that a process that asks for it is told from one whose value another
// process changes.
extern "C" {
int setpriority(__priority_which_t which, id_t who, int value) __THROW {
  using Set = int (*)(__priority_which_t, id_t, int);
  static const auto set = reinterpret_cast<Set>(dlsym(RTLD_NEXT, "setpriority"));
  ++klab::nice_requests;
  return set(which, who, value);
}

long syscall(long number, ...) __THROW {
  va_list list;
  va_start(list, number);
  long given[6];
  for (long& value : given) value = va_arg(list, long);
  va_end(list);
  using Call = long (*)(long, long, long, long, long, long, long);
  static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  if (number == SYS_setpriority) ++klab::nice_requests;
  return call(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

int nice(int by) __THROW {
  using Nice = int (*)(int);
  static const auto change = reinterpret_cast<Nice>(dlsym(RTLD_NEXT, "nice"));
  ++klab::nice_requests;
  return change(by);
}
}
