#include "harness/cuda_program/background.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <thread>

#include "harness/simt/crew.h"
#include "harness/simt/executor.h"
#include "harness/simt/modules.h"

namespace klab::program {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a kernel waits for threads of the host that exist, once the host waits for the kernel too.
constexpr auto kPatienceWithHost = std::chrono::seconds(30);

thread_local int lock_depth = 0;          // of this thread, in State::mutex
thread_local bool is_background = false;  // this thread is one of the background's
std::atomic<int> hosts_at_lock{0};        // threads that wait for the lock
std::atomic<int> hosts_awaiting{0};       // threads that wait for work of the background
std::atomic<int64_t> last_change{0};  // when one of them last began to wait or went on, by the clock's count

/// A word that a kernel reads over and over, as it was.
struct Seen {
  const volatile uint64_t* at;
  uint64_t value;
  explicit Seen(const void* p)
      : at(reinterpret_cast<const uint64_t*>(reinterpret_cast<uintptr_t>(p) & ~uintptr_t(7))), value(*at) {}
};

const simt::Module* program_of(const char* c) {
  const simt::Module* m = simt::module_at(c);
  return m != nullptr && m->arena != nullptr && c >= m->managed_begin && c < m->managed_end ? m : nullptr;
}

/// A thread of the background, with the job that it runs and those behind it. All but the thread itself is used under the
/// lock of the runtime.
class Worker final : public simt::HostTurns {
 public:
  bool is_of_host(const void* p) const override {
    const auto* c = static_cast<const char*>(p);
    if (!simt::is_device(p)) return program_of(c) != nullptr;
    const simt::Allocation* a = simt::owner_of(c);
    return a != nullptr && (a->home == simt::Home::managed || a->home == simt::Home::pinned);
  }

  bool wait(const std::vector<const void*>& words) override {
    constexpr std::chrono::microseconds kPoll(100), kTurn(20000);
    std::vector<Seen> seen;
    for (const void* p : words)
      if (seen.size() < 64) seen.emplace_back(p);
    give_lock();
    const auto changed = [&] {
      return std::ranges::any_of(seen, [](const Seen& s) { return *s.at != s.value; });
    };
    bool news = changed();
    for (const auto end = Clock::now() + kTurn; !seen.empty() && !news && Clock::now() < end;
         news = changed())
      std::this_thread::sleep_for(kPoll);
    take_lock();
    const int ours = simt::crew_threads() + int(workers().size());
    const int hosts = tasks() - ours, waiting = hosts_awaiting;
    const auto now = Clock::now();
    if (news || words != words_) unchanged_since_ = now;
    const bool same = !news && words == words_;
    words_ = words;
    if (waiting == 0 && now - unchanged_since_ > kPatienceWithHost) refuse_blocks();
    if (!same || waiting == 0) {
      alone_ = 0;
      began_ = now;
      return true;
    }
    began_ = std::max(began_, Clock::time_point(Clock::duration(last_change.load())));
    // Host threads that wait may be on their way out of the call: several turns tell.
    constexpr int kTurns = 5;
    alone_ = waiting >= hosts ? alone_ + 1 : 0;
    return alone_ < kTurns && now - began_ < kPatienceWithHost;
  }

  /// Runs the job; returns when it has ended, or waits for the host and has its own lock.
  bool run(Job job) {
    std::unique_lock lock(mutex_);
    jobs_.push_back(std::move(job));
    borrowed_ = true;
    state_ = State::runs;
    error_ = nullptr;
    if (!hired_) hire();
    moved_.notify_all();
    moved_.wait(lock, [&] { return state_ != State::runs; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return state_ == State::idle;
  }

  std::deque<Job>& jobs() { return jobs_; }
  bool is_idle() const { return jobs_.empty(); }

  static std::deque<Worker*>& workers() {
    static auto* list = new std::deque<Worker*>;
    static pid_t of = getpid();  // a forked child has none of its threads
    if (of != getpid()) {
      of = getpid();
      list = new std::deque<Worker*>;
    }
    return *list;
  }

 private:
  enum class State { idle, runs, beside };

  /// Ends the program if the host may wait for blocks that cannot begin before the one that waits for the host ends.
  static void refuse_blocks() {
    const simt::Executor& e = *simt::running;
    if (uint64_t(e.grid_dim[0]) * e.grid_dim[1] * e.grid_dim[2] == 1) return;
    std::fflush(stdout);
    std::fprintf(
        stderr,
        "klab: a block of kernel %s has waited for the host for 30 s, and klab runs the blocks of such a "
        "kernel one "
        "after the other: if the host waits for another block, the program needs a GPU, or one block\n",
        simt::function_name(e.launch->kernel).c_str());
    std::_Exit(2);
  }

  static int tasks() {
    std::error_code error;
    int count = 0;
    for (auto at = std::filesystem::directory_iterator("/proc/self/task", error);
         !error && at != std::filesystem::directory_iterator(); at.increment(error))
      ++count;
    return count;
  }

  void hire() {
    sigset_t all, before;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { serve(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    hired_ = true;
  }

  /// Lets host code go on: the call that launched the kernel returns, and other calls may begin.
  void give_lock() {
    if (borrowed_) {
      const std::lock_guard lock(mutex_);
      borrowed_ = false;
      state_ = State::beside;
      moved_.notify_all();
    } else {
      state().mutex.unlock();
    }
    // Calls of the host that wait for the lock go first.
    for (int k = 0; hosts_at_lock > 0 && k < 1000; ++k)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  void take_lock() { state().mutex.lock_as(this); }

  void serve() {
    constexpr size_t kBytes = 256 << 10;
    stack_t stack{};
    stack.ss_sp = new char[kBytes];  // lives as long as the process
    stack.ss_size = kBytes;
    sigaltstack(&stack, nullptr);
    is_background = true;
    RuntimeMutex::me() = this;
    program::state();  // its session becomes that of this thread
    simt::host_turns = this;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        moved_.wait(lock, [&] { return state_ == State::runs; });
      }
      serve_jobs();
    }
  }

  void serve_jobs() {
    for (;;) {
      std::exception_ptr error;
      words_.clear();
      alone_ = 0;
      began_ = unchanged_since_ = Clock::now();
      try {
        jobs_.front().run();
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      if (borrowed_) {  // the caller still waits
        jobs_.pop_front();
        if (error && !error_) error_ = error;
        if (!jobs_.empty()) continue;  // what the job has submitted itself
        state_ = State::idle;
        moved_.notify_all();
        return;
      }
      if (error) failed_later(error);
      jobs_.pop_front();
      if (!jobs_.empty()) continue;
      state_ = State::idle;
      program::state().mutex.unlock();
      return;
    }
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  State state_ = State::idle;
  bool hired_ = false, borrowed_ = false;  // borrowed: the thread whose call it runs holds the lock
  std::exception_ptr error_;
  std::deque<Job> jobs_;  // the first one runs
  std::vector<const void*> words_;
  Clock::time_point began_, unchanged_since_;
  int alone_ = 0;
};

}  // namespace

RuntimeLock::RuntimeLock() {
  ++hosts_at_lock;
  state().mutex.lock();
  --hosts_at_lock;
  ++lock_depth;
}
RuntimeLock::~RuntimeLock() {
  --lock_depth;
  state().mutex.unlock();
}

bool in_background(const Which& which) {
  for (Worker* w : Worker::workers())
    for (const Job& job : w->jobs())
      if (which(job.stream, job.number)) return true;
  return false;
}

namespace {
void await_jobs(const Which& which) {
  if (!in_background(which)) return;
  State& s = state();
  // A thread of the background has the lock once; a call of the host as often as calls are nested.
  const int depth = lock_depth + (is_background ? 1 : 0);
  const auto changed = [] { last_change = Clock::now().time_since_epoch().count(); };
  changed();
  ++hosts_awaiting;
  while (in_background(which)) {
    for (int k = 0; k < depth; ++k) s.mutex.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (int k = 0; k < depth; ++k) s.mutex.lock();
  }
  --hosts_awaiting;
  changed();
}
}  // namespace

bool run_beside_host(Job job) {
  if (is_background) {
    job.run();
    return true;
  }
  for (Worker* w : Worker::workers())
    if (w->is_idle()) return w->run(std::move(job));
  Worker::workers().push_back(new Worker);
  return Worker::workers().back()->run(std::move(job));
}

bool queue_behind(const Which& which, Job& job) {
  Worker* last = nullptr;
  uint64_t number = 0;
  bool several = false;
  for (Worker* w : Worker::workers())
    for (const Job& j : w->jobs())
      if (which(j.stream, j.number)) {
        several = several || (last != nullptr && last != w);
        if (j.number >= number) last = w, number = j.number;
      }
  if (last == nullptr) return false;
  if (several)
    job.run = [which, number = job.number, run = std::move(job.run)] {
      await_jobs([&](uint64_t stream, uint64_t n) { return n < number && which(stream, n); });
      run();
    };
  last->jobs().push_back(std::move(job));
  return true;
}

void await_background(const Which& which) {
  if (!is_background) await_jobs(which);
}

bool may_meet_host(const void* parameters, size_t bytes) {
  if (simt::managed_variables_exist) return true;
  for (size_t k = 0; k + sizeof(void*) <= bytes; k += sizeof(void*)) {
    const void* p = *reinterpret_cast<const void* const*>(static_cast<const char*>(parameters) + k);
    if (!simt::is_device(p)) continue;
    const simt::Allocation* a = simt::owner_of(static_cast<const char*>(p));
    if (a != nullptr && (a->home == simt::Home::managed || a->home == simt::Home::pinned)) return true;
  }
  return false;
}

}  // namespace klab::program
