#include "harness/simt/host_workers.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "harness/simt/finding.h"

namespace klab::simt {
namespace {

/// Gives the thread a signal stack: a kernel that overflows its own stack leaves no room for the handler.
void give_signal_stack() {
  constexpr size_t kBytes = 256 << 10;
  stack_t stack{};
  stack.ss_sp = new char[kBytes];  // never freed: threads live as long as the process
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

class HostWorkers {
 public:
  bool run(int count, const std::function<void()>& work, const std::function<bool()>& leaves) {
    std::unique_lock lock(mutex_);
    end_.wait(lock, [&] { return !occupied_; });
    while (int(threads_.size()) < count && hire()) {
    }
    if (threads_.empty()) throw Error("cudaErrorMemoryAllocation", "no thread can be made to run blocks");
    occupied_ = true;
    work_ = &work;
    wanted_ = std::min(count, int(threads_.size()));
    left_ = wanted_;
    begin_.notify_all();
    end_.wait(lock, [&] { return left_ == 0 || (leaves && leaves()); });
    return left_ == 0 && is_free();
  }
  void ask_again() {
    const std::lock_guard lock(mutex_);
    end_.notify_all();
  }
  bool ended(int milliseconds) {
    std::unique_lock lock(mutex_);
    return end_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return left_ == 0; }) &&
           is_free();
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return int(threads_.size());
  }

 private:
  /// The work is over. Requires the lock.
  bool is_free() {
    occupied_ = false;
    end_.notify_all();
    return true;
  }

  bool hire() {
    sigset_t all, before;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool hired = true;
    try {
      threads_.emplace_back([this] { serve(); });
      threads_.back().detach();
    } catch (const std::system_error&) {
      hired = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return hired;
  }

  void serve() {
    give_signal_stack();
    std::unique_lock lock(mutex_);
    for (;;) {
      begin_.wait(lock, [&] { return wanted_ > 0; });
      --wanted_;
      const std::function<void()>& work = *work_;
      lock.unlock();
      work();
      lock.lock();
      if (--left_ == 0) end_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::vector<std::thread> threads_;
  const std::function<void()>* work_ = nullptr;
  int wanted_ = 0, left_ = 0;
  bool occupied_ = false;  // by work that is not over
};

/// Returns the workers of this process. A forked child has none of its parent's threads.
HostWorkers& workers() {
  static std::mutex making;
  static HostWorkers* one = nullptr;
  static pid_t of = 0;
  const std::lock_guard lock(making);
  if (one == nullptr || of != getpid()) one = new HostWorkers;
  of = getpid();
  return *one;
}

}  // namespace

int cores() { return std::max(1, int(std::thread::hardware_concurrency())); }

void on_host_workers(int count, const std::function<void()>& work) { workers().run(count, work, {}); }
bool begin_on_host_workers(int count, const std::function<void()>& work,
                           const std::function<bool()>& leaves) {
  return workers().run(count, work, leaves);
}
void ask_again() { workers().ask_again(); }
bool host_workers_ended(int milliseconds) { return workers().ended(milliseconds); }
int host_workers() { return workers().count(); }

}  // namespace klab::simt
