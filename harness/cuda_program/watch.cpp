// A program from start to end: the session that all its launches use, illegal accesses by its host code, and
// the report when it ends, in whichever way.
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "harness/cuda_program/report.h"
#include "harness/cuda_program/state.h"
#include "harness/simt/background.h"
#include "harness/simt/compiled_code.h"
#include "harness/simt/executor.h"
#include "harness/simt/fault.h"
#include "harness/simt/gpus.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/host_workers.h"
#include "harness/simt/unset.h"
#include "harness/simt/unwatched.h"

extern "C" const char klab_runtime_of_programs = 1;

namespace klab::program {
namespace {

pid_t began = 0;  // process to report on; its children report nothing
std::atomic<bool> ended{false};
alignas(16) char signal_stack[1 << 18];
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM};

double number_from(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtod(text, nullptr);
}

const simt::Module* program_at(const void* p) {
  const simt::Module* m = simt::module_at(p);
  return m != nullptr && m->arena != nullptr ? m : nullptr;
}

bool in_sections(const simt::Module& m, const char* c) {
  return (c >= m.constant_begin && c < m.constant_end) || (c >= m.device_begin[0] && c < m.device_end[0]) ||
         (c >= m.device_begin[1] && c < m.device_end[1]);
}

void say_end(int code) {
  if (ended.exchange(true) || getpid() != began) return;
  simt::stop_adding();
  add_unasked();
  add_leaks();
  if (const char* file = std::getenv("KLAB_PROGRAM_REPORT"); file != nullptr)
    write_report(file, code);
  else
    print_findings();
}

/// Ends a program that klab cannot run. Called on the thread that runs the kernel.
void end_unrunnable(const simt::Finding& why) {
  std::fflush(nullptr);
  std::fprintf(stderr, "klab: %s:%d: in kernel %s, %s\n", why.file.c_str(), why.line, why.kernel.c_str(),
               why.text.c_str());
  say_end(2);
  _exit(2);
}

/// Turns a successful exit into exit code 1 if something illegal was found.
void at_exit(int code, void*) {
  std::fflush(nullptr);
  say_end(code);
  const char* wanted = std::getenv("KLAB_PROGRAM_FINDINGS");
  const bool ignored = wanted != nullptr && std::strcmp(wanted, "ignore") == 0;
  if (getpid() == began && code == 0 && !ignored && something_illegal()) {
    std::fflush(nullptr);
    _exit(1);
  }
}

void on_signal(int signal, siginfo_t* info, void* context) {
  simt::kernel_fault(signal, info, context);
  std::signal(signal, SIG_DFL);
  // The following code is not entirely async-signal-safe. If it hangs, the alarm ends it.
  alarm(20);
  if (signal != SIGTERM) {
    simt::running = nullptr;
    const bool null = signal == SIGSEGV && reinterpret_cast<uintptr_t>(info->si_addr) < 4096;
    std::string what = std::string("the program ended by SIG") + sigabbrev_np(signal);
    if (signal == SIGSEGV && simt::is_device(info->si_addr))
      what += ": host code touched device memory";
    else if (null)
      what += ": a null pointer";
    add_host_finding(simt::Kind::program, what);
  }
  say_end(128 + signal);
  raise(signal);
}

/// Returns whether an access to memory of the device finds nothing but words with the value of what was never set, or parts of
/// them.
bool is_unset(const void* p, size_t bytes) {
  const auto* const c = static_cast<const char*>(p);
  if (bytes > 8) return false;
  for (const char* word = c - reinterpret_cast<uintptr_t>(c) % 4; word < c + bytes; word += 4)
    if (!simt::is_unset(word)) return false;
  return true;
}

void host_touched(const void* p, size_t bytes, simt::HostAccess how, const void* pc) {
  const bool write = how == simt::HostAccess::write;
  const auto unset = [&] { return how == simt::HostAccess::read && is_unset(p, bytes); };
  // The common case: an access to memory shared with the host while no kernel or copy is pending.
  if (simt::is_device(p) && nothing_busy()) {
    const simt::Allocation* a = simt::owner_of(static_cast<const char*>(p));
    if (a != nullptr && a->live && a->home != simt::Home::device && p >= a->begin &&
        static_cast<const char*>(p) + bytes <= a->begin + a->bytes && !unset())
      return;
  }
  static thread_local bool inside = false;
  if (inside || getpid() != began) return;
  inside = true;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::string verb = write ? "a write of " : "a read of ";
  const std::string what = verb + std::to_string(bytes) + " bytes ";
  if (!simt::is_device(p)) {
    if (how == simt::HostAccess::read)
      unwritten_read(p, bytes, pc);
    else
      written_by_host(p, bytes);
    const simt::Module* m = program_at(p);
    // Functions for both sides may read tables in constant memory: __CUDA_ARCH__ is set in host code too.
    const bool table = m != nullptr && !write && p >= m->constant_begin && p < m->constant_end;
    if (m != nullptr && !table && in_sections(*m, static_cast<const char*>(p))) {
      const simt::Allocation* a = simt::device_variable_at(p);
      add_host_finding(simt::Kind::host_access,
                       what + "in " + (a != nullptr ? a->name : "a __device__ variable") +
                           ": on a GPU that is another variable than the kernels'; use cudaMemcpyFromSymbol",
                       pc);
    }
    inside = false;
    return;
  }
  const simt::Allocation* a = simt::allocation_at(p);
  const auto* c = static_cast<const char*>(p);
  const bool fits = a != nullptr && c >= a->begin && c + bytes <= a->begin + a->bytes;
  if (fits && a->live && a->home == simt::Home::library) {
    inside = false;
    return;
  }
  // Thrust's algorithms run on the host here, and on the device on a GPU.
  if (fits && a->live && a->home == simt::Home::device && simt::is_within_library(pc)) {
    if (how != simt::HostAccess::read) simt::mark_defined(const_cast<void*>(p), bytes, true);
    inside = false;
    return;
  }
  if (a == nullptr || !a->live || !fits || a->home == simt::Home::device) {
    const std::string of = a == nullptr ? "where no memory is allocated"
                                        : "in " + a->name + " (" + std::to_string(a->bytes) + " bytes)";
    if (a != nullptr && !a->live)
      add_host_finding(simt::Kind::use_after_free, what + of + ", which has been freed", pc);
    else if (a == nullptr || a->home == simt::Home::device)
      add_host_finding(simt::Kind::host_access,
                       what + of + ": only kernels may touch it; copy it with cudaMemcpy", pc);
    else
      add_host_finding(simt::Kind::out_of_bounds,
                       what + "outside of " + a->name + " (" + std::to_string(a->bytes) + " bytes), byte " +
                           std::to_string(c - a->begin),
                       pc);
    // On a machine with a GPU the program would crash here.
    std::fflush(nullptr);
    say_end(139);
    _exit(139);
  }
  if (a->home == simt::Home::managed && unset() &&
      !(bytes == 1 && simt::is_behind_text(*a, size_t(c - a->begin))))
    add_host_finding(simt::Kind::uninitialized,
                     what + "in " + a->name + ", byte " + std::to_string(c - a->begin) +
                         ", which was never written, or a kernel with a variable that was never set",
                     pc);
  // Atomics of host and device may meet, where the device allows it, and a host may wait for a flag.
  const bool is_flag = how == simt::HostAccess::atomic || simt::background_waits_for(p);
  if (const std::string why = is_flag ? "" : busy_reason(p, write); !why.empty())
    add_host_finding(
        simt::Kind::not_synchronized,
        what + "in " + a->name + ", though " + why +
            ", and nothing has waited for it since (cudaDeviceSynchronize, cudaStreamSynchronize)",
        pc);
  inside = false;
}

const auto began_at = std::chrono::steady_clock::now();
std::atomic<double> thinned_at{0};

/// Returns the share of the blocks to watch. Long programs get through: past the limit it is a tenth, past ten times the limit a
/// hundredth.
double share_by_time() {
  static const double limit = number_from("KLAB_PROGRAM_LIMIT", 60);
  static std::atomic<double> share{1};
  if (limit <= 0) return 1;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_at).count();
  const double now = seconds < limit ? 1 : seconds < 10 * limit ? 0.1 : 0.01;
  if (share.exchange(now) > now && getpid() == began) {
    if (thinned_at == 0) thinned_at = seconds;
    std::fprintf(stderr,
                 "klab: watched for %.0f s (--limit); from here on %.0f%% of the blocks of each launch are "
                 "watched, the first "
                 "always: errors in the others alone are not found, and counts are scaled. --blocks 100%% "
                 "watches all\n",
                 seconds, 100 * now);
  }
  return now;
}

void count_blocks(uint64_t watched, uint64_t blocks) {
  state().watched_blocks += double(watched);
  state().blocks += double(blocks);
}

/// Reports early that a launch takes long, and on a terminal how far the program is.
void on_block(uint64_t done, uint64_t blocks, const std::string& kernel) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [now = Clock::now()](Clock::time_point t) {
    return std::chrono::duration<double>(now - t).count();
  };
  // State of one launch at a time, whichever thread runs the block.
  static Clock::time_point begin, shown_at;
  static bool told = false, shown = false;
  static const char* const term = std::getenv("TERM");
  static const bool terminal = isatty(STDERR_FILENO) != 0 && term != nullptr &&
                               std::strcmp(term, "dumb") != 0 &&
                               std::getenv("KLAB_PROGRAM_REPORT") != nullptr;
  if (done == 1) {
    begin = Clock::now();
    told = false;
  } else if ((done & 15) != 0 && blocks > 256) {
    return;
  }
  const double seconds = seconds_since(begin), left = seconds / double(done) * double(blocks - done);
  const bool takes_long = seconds >= 2;
  if (!told && takes_long && left > 300) {
    told = true;
    std::fprintf(
        stderr,
        "klab: this launch of %s will take about %.0f min here (%llu of %llu blocks in %.0f s); --blocks N%% "
        "watches a smaller share of the blocks, a smaller problem needs less\n",
        kernel.c_str(), left / 60, static_cast<unsigned long long>(done),
        static_cast<unsigned long long>(blocks), seconds);
  }
  if (!terminal) return;
  if (seconds_since(began_at) > 2 && seconds_since(shown_at) > 0.5) {
    shown = true;
    shown_at = Clock::now();
    std::fprintf(stderr, "\r\033[Kklab: launch %lld, %s, block %llu of %llu",
                 static_cast<long long>(state().launches), kernel.c_str(),
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(blocks));
    if (takes_long) std::fprintf(stderr, ", about %.0f s left", left);
  }
  if (done == blocks && std::exchange(shown, false)) std::fprintf(stderr, "\r\033[K");
}

__attribute__((constructor)) void begin() {
  began = getpid();
  on_exit(at_exit, nullptr);
  simt::host_touch = host_touched;
  simt::block_done = on_block;
  simt::share_of_blocks = share_by_time;
  simt::launch_was_watched = count_blocks;
  simt::cannot_run = end_unrunnable;
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (const int s : kSignals) sigaction(s, &action, nullptr);
}

/// Returns the machine code of the program, if klab trace has compiled and disassembled it; else nullptr.
const simt::CompiledCode* machine_code() {
  const char* file = std::getenv("KLAB_PROGRAM_COMPILED");
  if (file == nullptr) return nullptr;
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  try {
    return new simt::CompiledCode(simt::read_disassembly(text.str(), file));  // lives as long as the process
  } catch (const std::runtime_error& e) {
    std::fprintf(stderr, "klab: %s; counted as written only\n", e.what());
    return nullptr;
  }
}

}  // namespace

double thinned_after() { return thinned_at; }

State& state() {
  static State& one = *[] {
    auto* s = new State;
    simt::Options options{.traced = true};
    options.share = std::min(1.0, std::max(1e-6, number_from("KLAB_PROGRAM_SHARE", 1)));
    options.seed = uint64_t(number_from("KLAB_PROGRAM_SEED", 1));
    // A higher limit than for klab's own kernels: some programs let one thread do the work of a grid.
    options.step_limit = uint64_t(number_from("KLAB_PROGRAM_STEPS", 500e6));
    options.goes_on = number_from("KLAB_PROGRAM_STOP_AT_FIRST", 0) == 0;
    options.compiled = machine_code();
    options.threads = std::clamp(int(number_from("KLAB_PROGRAM_THREADS", simt::cores())), 1, 1024);
    s->session = std::make_unique<simt::Session>(options);
    simt::Session::share(*s->session);
    return s;
  }();
  simt::Session::current();  // becomes this thread's session
  return one;
}

const simt::Allocation* memory_at(const void* p) {
  if (simt::is_device(p)) return simt::allocation_at(p);
  const simt::Module* m = program_at(p);
  if (m == nullptr || !in_sections(*m, static_cast<const char*>(p))) return nullptr;
  return simt::device_variable_at(p);
}

simt::SourceLine place_of_call() {
  std::array<void*, 24> frames{};
  const int count = backtrace(frames.data(), int(frames.size()));
  for (int k = 0; k < count; ++k)
    if (program_at(frames[size_t(k)]) != nullptr) return simt::source_of(frames[size_t(k)]);
  return {};
}

void add_host_finding(simt::Kind kind, const std::string& text, const void* pc) {
  const simt::SourceLine at = pc != nullptr ? simt::source_of(pc) : place_of_call();
  state().session->add({.kind = kind, .file = at.file, .line = at.line, .text = text});
}

}  // namespace klab::program
