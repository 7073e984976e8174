#include "harness/timing/clock_guard.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string_view>

namespace klab {
namespace {

struct TimeFunction {
  const char* name;
  std::string_view home;  // beginning of the name of the library that defines it
};
constexpr TimeFunction kFunctions[] = {{"clock_gettime", "libc"},
                                       {"gettimeofday", "libc"},
                                       {"time", "libc"},
                                       {"_ZNSt6chrono3_V212steady_clock3nowEv", "libstdc++"},
                                       {"_ZNSt6chrono3_V212system_clock3nowEv", "libstdc++"}};

/// The system maps some of these functions into each process, and sanitizers wrap them.
bool is_of_system(std::string_view library, std::string_view home) {
  for (const std::string_view other :
       {home, std::string_view("linux-vdso"), std::string_view("libasan"), std::string_view("libtsan"),
        std::string_view("libclang_rt"), std::string_view("libc++")})
    if (library.starts_with(other)) return true;
  return false;
}

/// Asks the kernel of the system, past all functions that a program may replace.
int64_t system_nanoseconds() {
  timespec now{};
#if defined(__x86_64__)
  long result = SYS_clock_gettime;
  __asm__ volatile("syscall" : "+a"(result) : "D"(long(CLOCK_MONOTONIC)), "S"(&now) : "rcx", "r11", "memory");
#else
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
#endif
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

int64_t program_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string replaced_clock() {
  for (const TimeFunction& f : kFunctions) {
    void* const address = dlsym(RTLD_DEFAULT, f.name);
    Dl_info info{};
    if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) continue;
    const std::string_view path = info.dli_fname;
    const size_t slash = path.rfind('/');
    if (is_of_system(slash == path.npos ? path : path.substr(slash + 1), f.home)) continue;
    return fmt::format("{} of {}", f.name, path);
  }
  return "";
}

bool run_alike(int64_t program, int64_t system) {
  constexpr int64_t kReading =
      2'000'000;  // ns: this thread may wait for a processor between the two readings
  return std::abs(program - system) <= std::max(kReading, system / 100);
}

ClockGuard::ClockGuard() : program_(program_nanoseconds()), system_(system_nanoseconds()) {}

void ClockGuard::verify() const {
  static const std::string replaced = replaced_clock();
  if (!replaced.empty())
    throw std::runtime_error(
        fmt::format("the clock is not the system's: the program calls {}. A kernel file defines it, or a "
                    "preloaded library; no time "
                    "that it measures can be believed",
                    replaced));
  // A second look: between the two readings this thread may have been held up.
  for (int look = 0; look < 3; ++look)
    if (run_alike(program_nanoseconds() - program_, system_nanoseconds() - system_)) return;
  throw std::runtime_error(
      "the program's clock does not run as the system's does: no time that it measures can be believed");
}

}  // namespace klab
