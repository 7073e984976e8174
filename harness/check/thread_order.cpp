// What orders threads, at the place where a variant enters it: GCC's libgomp, the C library's locks, the guards of static variables;
// and memory that is given back. This program defines these functions and hands each call on to the library's. Sanitized programs
// have definitions of their own.
#include <dlfcn.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <atomic>

#include "harness/check/thread_races.h"
#include "harness/simt/host_threads.h"

// LLVM's OpenMP enters a team by other functions.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define KLAB_WATCHES_RACES 0
#else
#define KLAB_WATCHES_RACES 1
#endif

#if KLAB_WATCHES_RACES
namespace {
using klab::acquired;
using klab::releases;

/// The next definition of a function: the library's. Looked up without a lock, since the lookup may come by here.
template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}
  Function* operator*() {
    if (at_ == nullptr) at_ = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    return at_;
  }

 private:
  const char* name_;
  std::atomic<Function*> at_ = nullptr;
};

const char unnamed_section = 0, atomic_section = 0;
}  // namespace

extern "C" {
#define KLAB_BARRIER(name)                             \
  void name(void);                                     \
  void name(void) {                                    \
    static constinit Next<decltype(name)> next(#name); \
    const klab::BarrierClock clock;                    \
    (*next)();                                         \
  }
KLAB_BARRIER(GOMP_barrier)
KLAB_BARRIER(GOMP_loop_end)
KLAB_BARRIER(GOMP_sections_end)
#undef KLAB_BARRIER

#define KLAB_SECTION(begin, end, thing)                  \
  void begin(void);                                      \
  void end(void);                                        \
  void begin(void) {                                     \
    static constinit Next<decltype(begin)> next(#begin); \
    (*next)();                                           \
    acquired(thing);                                     \
  }                                                      \
  void end(void) {                                       \
    static constinit Next<decltype(end)> next(#end);     \
    releases(thing);                                     \
    (*next)();                                           \
  }
KLAB_SECTION(GOMP_critical_start, GOMP_critical_end, &unnamed_section)
KLAB_SECTION(GOMP_atomic_start, GOMP_atomic_end, &atomic_section)
#undef KLAB_SECTION

#define KLAB_ACQUIRES(name, Thing)                   \
  void name(Thing* thing) noexcept;                  \
  void name(Thing* thing) noexcept {                 \
    static constinit Next<void(Thing*)> next(#name); \
    (*next)(thing);                                  \
    acquired(thing);                                 \
  }
#define KLAB_RELEASES(name, Thing)                   \
  void name(Thing* thing) noexcept;                  \
  void name(Thing* thing) noexcept {                 \
    static constinit Next<void(Thing*)> next(#name); \
    releases(thing);                                 \
    (*next)(thing);                                  \
  }
KLAB_ACQUIRES(GOMP_critical_name_start, void*)
KLAB_RELEASES(GOMP_critical_name_end, void*)
KLAB_ACQUIRES(omp_set_lock, omp_lock_t)
KLAB_RELEASES(omp_unset_lock, omp_lock_t)
KLAB_ACQUIRES(omp_set_nest_lock, omp_nest_lock_t)
KLAB_RELEASES(omp_unset_nest_lock, omp_nest_lock_t)
#undef KLAB_ACQUIRES
#undef KLAB_RELEASES

int omp_test_lock(omp_lock_t* lock) noexcept {
  static constinit Next<int(omp_lock_t*)> next("omp_test_lock");
  const int got = (*next)(lock);
  if (got != 0) acquired(lock);
  return got;
}

// 0 where the lock was got.
#define KLAB_TAKES(name, Thing)                     \
  int name(Thing* thing) noexcept {                 \
    static constinit Next<int(Thing*)> next(#name); \
    const int error = (*next)(thing);               \
    if (error == 0) acquired(thing);                \
    return error;                                   \
  }
#define KLAB_GIVES(name, Thing)                     \
  int name(Thing* thing) noexcept {                 \
    static constinit Next<int(Thing*)> next(#name); \
    releases(thing);                                \
    return (*next)(thing);                          \
  }
KLAB_TAKES(pthread_mutex_lock, pthread_mutex_t)
KLAB_TAKES(pthread_mutex_trylock, pthread_mutex_t)
KLAB_GIVES(pthread_mutex_unlock, pthread_mutex_t)
KLAB_TAKES(pthread_rwlock_rdlock, pthread_rwlock_t)
KLAB_TAKES(pthread_rwlock_tryrdlock, pthread_rwlock_t)
KLAB_TAKES(pthread_rwlock_wrlock, pthread_rwlock_t)
KLAB_TAKES(pthread_rwlock_trywrlock, pthread_rwlock_t)
KLAB_GIVES(pthread_rwlock_unlock, pthread_rwlock_t)
KLAB_GIVES(sem_post, sem_t)
KLAB_TAKES(sem_trywait, sem_t)
#undef KLAB_GIVES
#undef KLAB_TAKES

int sem_wait(sem_t* thing) {
  static constinit Next<int(sem_t*)> next("sem_wait");
  const int error = (*next)(thing);
  if (error == 0) acquired(thing);
  return error;
}
int pthread_barrier_wait(pthread_barrier_t* thing) noexcept {
  static constinit Next<int(pthread_barrier_t*)> next("pthread_barrier_wait");
  releases(thing);
  const int last = (*next)(thing);
  acquired(thing);
  return last;
}
int pthread_once(pthread_once_t* thing, void (*body)()) {
  static constinit Next<int(pthread_once_t*, void (*)())> next("pthread_once");
  const int error = (*next)(thing, body);
  acquired(thing);
  releases(thing);
  return error;
}
int pthread_cond_wait(pthread_cond_t* thing, pthread_mutex_t* lock) {
  static constinit Next<int(pthread_cond_t*, pthread_mutex_t*)> next("pthread_cond_wait");
  releases(lock);
  const int error = (*next)(thing, lock);
  acquired(lock);
  return error;
}
int pthread_cond_timedwait(pthread_cond_t* thing, pthread_mutex_t* lock, const timespec* until) {
  static constinit Next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> next(
      "pthread_cond_timedwait");
  releases(lock);
  const int error = (*next)(thing, lock, until);
  acquired(lock);
  return error;
}
int pthread_cond_clockwait(pthread_cond_t* thing, pthread_mutex_t* lock, clockid_t clock,
                           const timespec* until) {
  static constinit Next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> next(
      "pthread_cond_clockwait");
  releases(lock);
  const int error = (*next)(thing, lock, clock, until);
  acquired(lock);
  return error;
}

int __cxa_guard_acquire(long long* guard);
int __cxa_guard_acquire(long long* guard) {
  static constinit Next<int(long long*)> next("__cxa_guard_acquire");
  const int mine = (*next)(guard);
  if (mine == 0) acquired(guard);
  return mine;
}
void __cxa_guard_release(long long* guard) noexcept;
void __cxa_guard_release(long long* guard) noexcept {
  static constinit Next<void(long long*)> next("__cxa_guard_release");
  releases(guard);
  (*next)(guard);
}

// OpenMP's tasks and what is done in order.
void GOMP_task(void (*body)(void*), void* data, void (*copy)(void*, void*), long bytes, long align, bool now,
               unsigned flags, void** depends, int priority, void* detach);
void GOMP_task(void (*body)(void*), void* data, void (*copy)(void*, void*), long bytes, long align, bool now,
               unsigned flags, void** depends, int priority, void* detach) {
  static constinit Next<decltype(GOMP_task)> next("GOMP_task");
  klab::give_up_watch();
  (*next)(body, data, copy, bytes, align, now, flags, depends, priority, detach);
}
#define KLAB_TASKLOOP(name, Number)                                                                     \
  void name(void (*body)(void*), void* data, void (*copy)(void*, void*), long bytes, long align,        \
            unsigned flags, unsigned long tasks, int priority, Number begin, Number end, Number step);  \
  void name(void (*body)(void*), void* data, void (*copy)(void*, void*), long bytes, long align,        \
            unsigned flags, unsigned long tasks, int priority, Number begin, Number end, Number step) { \
    static constinit Next<decltype(name)> next(#name);                                                  \
    klab::give_up_watch();                                                                              \
    (*next)(body, data, copy, bytes, align, flags, tasks, priority, begin, end, step);                  \
  }
KLAB_TASKLOOP(GOMP_taskloop, long)
KLAB_TASKLOOP(GOMP_taskloop_ull, unsigned long long)
#undef KLAB_TASKLOOP
void GOMP_ordered_start(void);
void GOMP_ordered_start(void) {
  static constinit Next<decltype(GOMP_ordered_start)> next("GOMP_ordered_start");
  klab::give_up_watch();
  (*next)();
}
void* GOMP_single_copy_start(void);
void* GOMP_single_copy_start(void) {
  static constinit Next<decltype(GOMP_single_copy_start)> next("GOMP_single_copy_start");
  klab::give_up_watch();
  return (*next)();
}

void free(void* p) noexcept {
  static constinit Next<void(void*)> next("free");
  if (klab::simt::listening() != nullptr && p != nullptr) klab::forget_memory(p, malloc_usable_size(p));
  (*next)(p);
}
void* realloc(void* p, size_t bytes) noexcept {
  static constinit Next<void*(void*, size_t)> next("realloc");
  if (klab::simt::listening() != nullptr && p != nullptr) klab::forget_memory(p, malloc_usable_size(p));
  return (*next)(p, bytes);
}
}
#endif
