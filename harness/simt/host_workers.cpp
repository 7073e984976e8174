#include "harness/simt/host_workers.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

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
  void run(int count, const std::function<void()>& work) {
    const std::lock_guard one_at_a_time(launch_);
    std::unique_lock lock(mutex_);
    while (int(threads_.size()) < count && hire()) {
    }
    if (threads_.empty()) throw Error("cudaErrorMemoryAllocation", "no thread can be made to run blocks");
    work_ = &work;
    wanted_ = std::min(count, int(threads_.size()));
    left_ = wanted_;
    begin_.notify_all();
    end_.wait(lock, [&] { return left_ == 0; });
  }

 private:
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

  std::mutex launch_, mutex_;
  std::condition_variable begin_, end_;
  std::vector<std::thread> threads_;
  const std::function<void()>* work_ = nullptr;
  int wanted_ = 0, left_ = 0;
};

}  // namespace

int cores() { return std::max(1, int(std::thread::hardware_concurrency())); }

void on_host_workers(int count, const std::function<void()>& work) {
  static std::mutex making;
  static HostWorkers* workers = nullptr;
  static pid_t of = 0;  // process that owns the workers; a forked child has none of its threads
  {
    const std::lock_guard lock(making);
    if (workers == nullptr || of != getpid()) workers = new HostWorkers;
    of = getpid();
  }
  workers->run(count, work);
}

}  // namespace klab::simt
