#include "harness/check/thread_watch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fmt/core.h>
#include <omp.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "harness/check/detectors.h"
#include "harness/check/thread_races.h"
#include "harness/simt/host_threads.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KLAB_WATCHES_THREADS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KLAB_WATCHES_THREADS 0
#endif
#endif
#ifndef KLAB_WATCHES_THREADS
#define KLAB_WATCHES_THREADS 1
#endif

namespace klab {
namespace {

/// Threads of one kind: alive, the most at once since peak was set, and how many have ended.
struct Tally {
  std::atomic<int> alive{0}, peak{0}, ended{0};
  void begin() {
    const int now = ++alive;
    int most = peak;
    while (now > most && !peak.compare_exchange_weak(most, now)) continue;
  }
  void end() {
    ++ended;
    --alive;
  }
};
Tally own;      // std::thread, pthread_create() by a kernel
Tally working;  // own threads and members of teams; a thread of both counts once
Tally openmp;   // the pool of OpenMP
Tally library;  // pools of libraries that a vendor baseline calls

std::atomic<bool> watching{false};                      // a ThreadWatch lives
std::atomic<int> asked_for{0};                          // by it
std::atomic<int64_t> own_nanoseconds{0}, own_ended{0};  // processor time of own threads that have ended
thread_local bool counts_as_working = false;

[[maybe_unused]] bool anybody_watches() { return watching || simt::listening() != nullptr; }

int64_t processor_nanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// What the thread that makes the watched call does between starting the last of its threads and waiting for one.
struct Caller {
  bool is = false, has_started_all = false;
  int64_t started_at = 0, worked = 0;  // nanoseconds
};
thread_local Caller caller;

[[maybe_unused]] Tally& tally_of(void* (*function)(void*)) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(function), &info) == 0 || info.dli_fname == nullptr) return own;
  const char* slash = std::strrchr(info.dli_fname, '/');
  const std::string name = slash == nullptr ? info.dli_fname : slash + 1;
  for (const char* of : {"libgomp", "libomp", "libiomp"})
    if (name.starts_with(of)) return openmp;
  for (const char* of : {"libopenblas", "libdnnl", "libmkl", "libtbb", "libcuda", "libblis"})
    if (name.starts_with(of)) return library;
  return own;
}

/// Threads of this process as the system counts them: those, too, that were made without pthread_create().
int tasks() {
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

int known_alive() { return own.alive + openmp.alive + library.alive; }

template <class Condition>
bool wait_until(double seconds, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  // Most waits end at once, and those for threads that never end should cost no processor.
  std::chrono::microseconds pause(50), longest(2000);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest);
  }
  return true;
}

}  // namespace

bool threads_are_watched() { return KLAB_WATCHES_THREADS != 0; }

void use_threads(int threads) {
  omp_set_num_threads(threads);
  if (!threads_are_watched() || openmp.alive == threads - 1) return;
  // Not within a parallel region; elsewhere the pool ends, and the next region makes one of that size.
  if (omp_in_parallel() || omp_pause_resource_all(omp_pause_hard) != 0) return;
  wait_until(2, [] { return openmp.alive == 0; });
  if (threads == 1) return;
#pragma omp parallel num_threads(threads)
  __asm__ volatile("");  // an empty region would be left out
}

ThreadWatch::ThreadWatch(int asked, bool all)
    : asked_(asked),
      own_before_(own.alive),
      pool_before_(openmp.alive),
      pool_ended_before_(openmp.ended),
      tasks_before_(all ? tasks() - known_alive() : 0),
      working_before_(working.alive) {
  own.peak = own.alive.load();
  openmp.peak = openmp.alive.load();
  working.peak = working.alive.load();
  asked_for = asked;
  own_nanoseconds = own_ended = 0;
  caller = {.is = true};
  watching = true;
}

ThreadWatch::~ThreadWatch() {
  watching = false;
  caller = {};
}

int ThreadWatch::most() const { return std::max(1, working.peak - working_before_); }

std::string ThreadWatch::too_many() const {
  if (!threads_are_watched()) return "";
  const int started = own.peak - own_before_, at_work = working.peak - working_before_;
  // A pool that shrinks and grows again starts threads in the place of those that end, which may not have ended yet.
  const int most = std::max(pool_before_, asked_ - 1);
  const auto pool = [&] { return openmp.peak - (openmp.ended - pool_ended_before_); };
  if (openmp.peak > most) wait_until(2, [&] { return pool() <= most; });
  const int team = openmp.peak > most && pool() > most ? openmp.peak + 1 : 0;
  // One that only waits for those that it has started does not count. It works if it takes a good part of what they take, and
  // more than starting and waiting for them costs.
  constexpr int64_t kStarting = 200'000;  // nanoseconds
  const int64_t each = own_ended > 0 ? own_nanoseconds / own_ended : 0;
  const bool caller_works =
      started == asked_ && caller.worked > std::max(kStarting, each / 4) && uses(Detector::caller_of_threads);
  const int at_once = std::max({team, at_work, caller_works ? started + 1 : 0});
  if (at_once <= asked_) return "";
  return fmt::format("{} threads at once where {} {} asked for", at_once, asked_,
                     asked_ == 1 ? "was" : "were");
}

std::string ThreadWatch::still_running() const {
  const int left = own.alive - own_before_;
  if (left > 0)
    return left == 1 ? "a thread that it started still runs"
                     : fmt::format("{} threads that it started still run", left);
  if (!threads_are_watched() || tasks_before_ <= 0) return "";
  // Threads that end are counted by the system a moment longer: on a machine with much else to do, dozens of them for some tenths
  // of a second.
  const auto unknown = [this] { return tasks() - known_alive() - tasks_before_; };
  if (unknown() <= 0 || wait_until(2, [&] { return unknown() <= 0; })) return "";
  return fmt::format("{} more thread{} than before, not made by pthread_create()", unknown(),
                     unknown() == 1 ? "" : "s");
}

bool ThreadWatch::wait_for_end(double seconds) const {
  return wait_until(seconds, [this] { return own.alive <= own_before_; });
}

}  // namespace klab

#if KLAB_WATCHES_THREADS
namespace {

using Function = void* (*)(void*);
struct Start {
  Function function;
  void* argument;
  klab::Tally* tally;
  klab::ThreadClock* clock;
};

struct Ending {
  klab::Tally* tally;
  klab::ThreadClock* clock;
  ~Ending() {
    klab::end_thread(clock);
    tally->end();
    if (tally != &klab::own) return;
    klab::own_nanoseconds += klab::processor_nanoseconds();
    ++klab::own_ended;
    klab::working.end();
  }
};

void* counted(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  const Ending ending{start.tally,
                      start.clock};  // also where the thread ends by pthread_exit() or is canceled
  klab::counts_as_working = start.tally == &klab::own;
  klab::begin_thread(start.clock);
  return start.function(start.argument);
}

/// A parallel region whose members are counted, each until the region ends: how many there are at once does not depend on which
/// is done first.
class Region {
 public:
  Region(void (*body)(void*), void* data) : body_(body), data_(data) {}
  ~Region() {
    for (int k = 0; k < members_; ++k) klab::working.end();
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  static void run_member(void* region) { static_cast<Region*>(region)->run(); }

 private:
  void run() {
    const bool first = !std::exchange(klab::counts_as_working, true);
    if (first) {
      ++members_;
      klab::working.begin();
    }
    {
      const klab::RegionMember member(clock_);
      body_(data_);
    }
    if (first) klab::counts_as_working = false;
  }

  void (*body_)(void*);
  void* data_;
  std::atomic<int> members_{0};
  klab::RegionClock clock_;
};

template <class Enter>
Enter* next_definition(const char* name) {
  return reinterpret_cast<Enter*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The entries of GCC's parallel regions; their arguments are those of libgomp. Combined with a loop they have bounds, step and
// chunk of it.
extern "C" {
using RegionBody = void(void*);
void GOMP_parallel(RegionBody* body, void* data, unsigned threads, unsigned flags);
unsigned GOMP_parallel_reductions(RegionBody* body, void* data, unsigned threads, unsigned flags);

void GOMP_parallel(RegionBody* body, void* data, unsigned threads, unsigned flags) {
  static auto* const enter = next_definition<decltype(GOMP_parallel)>("GOMP_parallel");
  if (!klab::anybody_watches()) return enter(body, data, threads, flags);
  Region region(body, data);
  enter(Region::run_member, &region, threads, flags);
}

unsigned GOMP_parallel_reductions(RegionBody* body, void* data, unsigned threads, unsigned flags) {
  static auto* const enter = next_definition<decltype(GOMP_parallel_reductions)>("GOMP_parallel_reductions");
  if (!klab::anybody_watches()) return enter(body, data, threads, flags);
  Region region(body, data);
  return enter(Region::run_member, &region, threads, flags);
}

#define KLAB_COUNTED_LOOP(name)                                                                          \
  void name(RegionBody* body, void* data, unsigned threads, long begin, long end, long step, long chunk, \
            unsigned flags);                                                                             \
  void name(RegionBody* body, void* data, unsigned threads, long begin, long end, long step, long chunk, \
            unsigned flags) {                                                                            \
    static auto* const enter = next_definition<decltype(name)>(#name);                                   \
    if (!klab::anybody_watches()) return enter(body, data, threads, begin, end, step, chunk, flags);     \
    Region region(body, data);                                                                           \
    enter(Region::run_member, &region, threads, begin, end, step, chunk, flags);                         \
  }
KLAB_COUNTED_LOOP(GOMP_parallel_loop_static)
KLAB_COUNTED_LOOP(GOMP_parallel_loop_dynamic)
KLAB_COUNTED_LOOP(GOMP_parallel_loop_guided)
KLAB_COUNTED_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
KLAB_COUNTED_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
#undef KLAB_COUNTED_LOOP
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Function function,
                              void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, Function, void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  klab::Tally& tally = klab::tally_of(function);
  auto* start = new (std::nothrow) Start{function, argument, &tally, nullptr};
  if (start == nullptr) return EAGAIN;
  klab::ThreadClock* const clock = &tally == &klab::own ? klab::clock_for_thread() : nullptr;
  start->clock = clock;
  tally.begin();
  if (&tally == &klab::own) klab::working.begin();
  const int error = create(thread, attributes, counted, start);
  if (error != 0) {
    tally.end();
    if (&tally == &klab::own) klab::working.end();
    delete start;
  } else if (clock != nullptr) {
    klab::thread_started(*thread, clock);
  }
  klab::Caller& caller = klab::caller;
  if (caller.is && error == 0 && klab::own.alive >= klab::asked_for) {
    caller.has_started_all = true;
    caller.started_at = klab::processor_nanoseconds();
  }
  return error;
}

extern "C" int pthread_join(pthread_t thread, void** result) {
  using Join = int(pthread_t, void**);
  static auto* const join = next_definition<Join>("pthread_join");
  klab::Caller& caller = klab::caller;
  if (caller.is && std::exchange(caller.has_started_all, false))
    caller.worked = std::max(caller.worked, klab::processor_nanoseconds() - caller.started_at);
  const int error = join(thread, result);
  if (error == 0) klab::thread_joined(thread);
  return error;
}
#endif
