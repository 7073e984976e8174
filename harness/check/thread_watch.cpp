#include "harness/check/thread_watch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fmt/core.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

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
Tally openmp;   // the pool of OpenMP
Tally library;  // pools of libraries that a vendor baseline calls

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
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
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
  wait_until(0.1, [] { return openmp.alive == 0; });
  if (threads == 1) return;
#pragma omp parallel num_threads(threads)
  __asm__ volatile("");  // an empty region would be left out
}

ThreadWatch::ThreadWatch(int asked, bool all)
    : asked_(asked),
      own_before_(own.alive),
      pool_before_(openmp.alive),
      pool_ended_before_(openmp.ended),
      tasks_before_(all ? tasks() - known_alive() : 0) {
  own.peak = own.alive.load();
  openmp.peak = openmp.alive.load();
}

std::string ThreadWatch::too_many() const {
  if (!threads_are_watched()) return "";
  const int started = own.peak - own_before_;
  // A pool that shrinks and grows again starts threads in the place of those that end, which may not have ended yet.
  const int most = std::max(pool_before_, asked_ - 1);
  const auto pool = [&] { return openmp.peak - (openmp.ended - pool_ended_before_); };
  if (openmp.peak > most) wait_until(0.01, [&] { return pool() <= most; });
  const int team = openmp.peak > most && pool() > most ? openmp.peak + 1 : 0;
  // One that only waits for those that it has started does not count.
  const int at_once = std::max(team, started > asked_ ? started : 0);
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
  // Threads that end are counted by the system a moment longer.
  const auto unknown = [this] { return tasks() - known_alive() - tasks_before_; };
  if (unknown() <= 0 || wait_until(0.02, [&] { return unknown() <= 0; })) return "";
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
};

struct Ending {
  klab::Tally* tally;
  ~Ending() { tally->end(); }
};

void* counted(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  const Ending ending{start.tally};  // also where the thread ends by pthread_exit() or is canceled
  return start.function(start.argument);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Function function,
                              void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, Function, void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  klab::Tally& tally = klab::tally_of(function);
  auto* start = new (std::nothrow) Start{function, argument, &tally};
  if (start == nullptr) return EAGAIN;
  tally.begin();
  const int error = create(thread, attributes, counted, start);
  if (error != 0) {
    tally.end();
    delete start;
  }
  return error;
}
#endif
