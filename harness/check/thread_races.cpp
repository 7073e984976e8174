#include "harness/check/thread_races.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/check/thread_watch.h"
#include "harness/simt/host_threads.h"
#include "harness/simt/modules.h"

namespace klab {
namespace {

constexpr int kThreads = 80;  // with more of them a watch is given up
using Clock = std::array<uint32_t, kThreads>;

void raise(Clock& clock, const Clock& other) {
  for (size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], other[k]);
}

/// What this file knows of a thread. Its numbers count in one watch only.
struct Local {
  uint64_t watch = 0;
  int id = -1;
  bool active = false;  // it is one whose beginning was seen
  bool inside = false;  // it is in this file
  Clock clock{};
  RegionClock::Parts* region = nullptr;
  size_t barriers = 0;  // it has met in that region
  bool wrote = false;
};
constinit thread_local Local local;

/// One access that is remembered.
struct Seen {
  uint32_t at = 0;  // the thread's own clock; 0: none
  uint8_t thread = 0, mask = 0;
  bool write = false, atomic = false;
  const void* pc = nullptr;
};
struct Cell {
  std::array<Seen, 8> seen;  // as many as bytes, each of which another thread may have written
  uint8_t next = 0;
};

class Inside {
 public:
  Inside() { local.inside = true; }
  ~Inside() { local.inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// A spinning lock: pthread_mutex_lock() calls functions of this file.
class Spin {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

class Races : public simt::HostThreads {
 public:
  // Never destroyed: a thread that a variant has left behind may come by at the end of the process.
  static Races& all() {
    static Races* const races = new Races;
    return *races;
  }

  void begin() {
    for (Shard& shard : shards_) shard.cells.clear();
    clocks_.clear();
    joined_.clear();
    relaxed_ = {};
    first_.reset();
    given_up_ = fenced_ = full_ = false;
    next_id_ = writers_ = 0;
    ++watch_;
    take_part();
    simt::host_threads = this;
  }
  void end() { simt::host_threads = nullptr; }

  std::optional<ThreadRace> first() {
    const std::lock_guard lock(lock_);
    return given_up_ ? std::nullopt : first_;
  }
  int writers() const { return writers_; }
  bool complete() const { return !full_ && !given_up_; }
  void give_up() { given_up_ = true; }

  bool takes_part() const { return local.active && local.watch == watch_ && !local.inside; }

  /// This thread is one of the watch from now on.
  void take_part() {
    if (local.watch != watch_) {
      local.watch = watch_;
      local.clock = {};
      local.region = nullptr;
      local.wrote = false;
      local.id = next_id_++;
      if (local.id >= kThreads) given_up_ = true;
    }
    local.active = local.id < kThreads;
    if (local.active) ++local.clock[size_t(local.id)];
  }

  void access(const void* p, size_t bytes, bool write, bool atomic, const void* pc) override {
    if (!takes_part() || given_up_ || bytes == 0) return;
    const Inside inside;
    if (write && !std::exchange(local.wrote, true)) ++writers_;
    auto at = reinterpret_cast<uintptr_t>(p);
    for (const uintptr_t end = at + bytes; at < end;) {
      const uintptr_t word = at / 8, next = std::min((word + 1) * 8, end);
      const auto mask = uint8_t(((1U << (next - at)) - 1) << (at % 8));
      remember(word, {.at = local.clock[size_t(local.id)],
                      .thread = uint8_t(local.id),
                      .mask = mask,
                      .write = write,
                      .atomic = atomic,
                      .pc = pc});
      at = next;
    }
  }

  void before_atomic(const void* p, bool writes, int order) override {
    if (!writes || !takes_part()) return;
    const bool releases = order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
    {
      const Inside inside;
      const std::lock_guard lock(lock_);
      raise(relaxed_, local.clock);
    }
    if (releases || fenced_) release(p);
  }
  void after_atomic(const void* p, bool reads, int order) override {
    if (reads && (order != __ATOMIC_RELAXED || fenced_)) acquire(p);
  }
  // Orders relaxed operations before and behind it. Which ones those are is not followed: all that were done until now.
  void fence() override {
    if (!takes_part()) return;
    const Inside inside;
    fenced_ = true;
    const std::lock_guard lock(lock_);
    raise(local.clock, relaxed_);
    raise(relaxed_, local.clock);
    tick();
  }

  /// What this thread has done comes before what is done after acquire() of the same thing.
  void release(const void* thing) {
    if (!takes_part()) return;
    const Inside inside;
    const std::lock_guard lock(lock_);
    raise(clocks_[thing], local.clock);
    tick();
  }
  void acquire(const void* thing) {
    if (!takes_part()) return;
    const Inside inside;
    const std::lock_guard lock(lock_);
    if (const auto at = clocks_.find(thing); at != clocks_.end()) raise(local.clock, at->second);
  }

  /// Memory that is given back: another thread may be given it without having to be ordered.
  void forget(const void* p, size_t bytes) {
    if (local.inside || bytes == 0) return;
    const Inside inside;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(p) / 8, end = begin + (bytes + 7) / 8;
    for (size_t k = 0; k < shards_.size(); ++k) {
      Shard& shard = shards_[k];
      const std::lock_guard lock(shard.lock);
      if (shard.cells.size() < (end - begin) / shards_.size()) {
        std::erase_if(shard.cells, [&](const auto& cell) { return cell.first >= begin && cell.first < end; });
        continue;
      }
      uintptr_t word = begin + (k + shards_.size() - begin % shards_.size()) % shards_.size();
      for (; word < end; word += shards_.size()) shard.cells.erase(word);
    }
  }

  Spin& lock() { return lock_; }
  void tick() { ++local.clock[size_t(local.id)]; }
  std::map<pthread_t, ThreadClock*>& joined() { return joined_; }

 private:
  static constexpr size_t kMost = 1 << 12;  // words a shard: a million in all
  struct Shard {
    Spin lock;
    std::unordered_map<uintptr_t, Cell> cells;
  };

  void remember(uintptr_t word, const Seen& now) {
    Shard& shard = shards_[word % shards_.size()];
    const std::lock_guard lock(shard.lock);
    const auto found = shard.cells.find(word);
    if (found == shard.cells.end() && shard.cells.size() >= kMost) {
      full_ = true;
      return;
    }
    Cell& cell = found != shard.cells.end() ? found->second : shard.cells[word];
    Seen* place = nullptr;
    for (Seen& other : cell.seen) {
      const bool before = other.at <= local.clock[other.thread];  // nothing at all, or in order
      if (!before && other.thread != now.thread && (other.mask & now.mask) != 0 &&
          (other.write || now.write) && !(other.atomic && now.atomic))
        report(word, other, now);
      // What says no more than this access makes room for it.
      if ((before || other.thread == now.thread) && (other.mask & ~now.mask) == 0 &&
          other.write <= now.write && other.atomic >= now.atomic)
        place = &other;
    }
    // Where all say more, one of this thread's own goes if it has two: what others have done stays.
    if (place == nullptr) {
      const auto own = [&](const Seen& other) { return other.thread == now.thread; };
      const bool several = std::ranges::count_if(cell.seen, own) > 1;
      do place = &cell.seen[cell.next++ % cell.seen.size()];
      while (several && !own(*place));
    }
    *place = now;
  }

  void report(uintptr_t word, const Seen& earlier, const Seen& later) {
    const std::lock_guard lock(lock_);
    if (first_) return;
    const unsigned both = earlier.mask & later.mask;
    const int begin = __builtin_ctz(both);
    first_ = ThreadRace{.address = reinterpret_cast<const void*>(word * 8 + uintptr_t(begin)),
                        .bytes = __builtin_popcount(both),
                        .earlier = {earlier.write, earlier.atomic, earlier.pc},
                        .later = {later.write, later.atomic, later.pc}};
  }

  std::atomic<uint64_t> watch_{0};
  std::atomic<int> next_id_{0}, writers_{0};
  std::atomic<bool> given_up_{false}, fenced_{false}, full_{false};
  std::array<Shard, 256> shards_;
  Spin lock_;  // of what follows
  std::unordered_map<const void*, Clock> clocks_;
  Clock relaxed_{};
  std::optional<ThreadRace> first_;
  std::map<pthread_t, ThreadClock*> joined_;
};

Races* current_watch() { return simt::listening() == nullptr ? nullptr : &Races::all(); }

}  // namespace

// The clocks of a team: of the thread that begins the region, of all that have left it, and of its barriers.
struct RegionClock::Parts {
  Clock begin{}, end{};
  std::vector<Clock> barriers;
};

struct ThreadClock {
  Clock clock{};
};

RegionClock::RegionClock() {
  Races* const races = current_watch();
  if (races == nullptr || !races->takes_part()) return;
  const Inside inside;
  parts_ = new Parts;
  parts_->begin = local.clock;
  races->tick();
}

RegionClock::~RegionClock() {
  if (parts_ == nullptr) return;
  if (Races* const races = current_watch(); races != nullptr && races->takes_part()) {
    raise(local.clock, parts_->end);
    races->tick();
  }
  const Inside inside;
  delete parts_;
}

RegionMember::RegionMember(const RegionClock& region) : region_(region.parts_) {
  Races* const races = current_watch();
  if (region_ == nullptr || races == nullptr) return;
  was_active_ = races->takes_part();
  races->take_part();
  outer_ = std::exchange(local.region, region_);
  outer_barriers_ = std::exchange(local.barriers, 0);
  const std::lock_guard lock(races->lock());
  raise(local.clock, region_->begin);
}

RegionMember::~RegionMember() {
  Races* const races = current_watch();
  if (region_ == nullptr || races == nullptr || !races->takes_part() || local.region != region_) return;
  {
    const std::lock_guard lock(races->lock());
    raise(region_->end, local.clock);
    races->tick();
  }
  local.region = outer_;
  local.barriers = outer_barriers_;
  local.active = was_active_;
}

std::string why_races_are_not_watched() {
#if defined(__clang__)
  return "klab was built by Clang";
#else
  return threads_are_watched() ? "" : "klab was built with a sanitizer";
#endif
}

bool races_are_watched() { return why_races_are_not_watched().empty(); }

RaceWatch::RaceWatch() { Races::all().begin(); }
RaceWatch::~RaceWatch() { Races::all().end(); }
void RaceWatch::read(const void* p, size_t bytes) { Races::all().access(p, bytes, false, false, nullptr); }
std::optional<ThreadRace> RaceWatch::first() const { return Races::all().first(); }
int RaceWatch::writers() const { return Races::all().writers(); }
bool RaceWatch::complete() const { return Races::all().complete(); }

ThreadClock* clock_for_thread() {
  Races* const races = current_watch();
  if (races == nullptr || !races->takes_part()) return nullptr;
  const Inside inside;
  auto* const clock = new ThreadClock{local.clock};
  races->tick();
  return clock;
}

void begin_thread(ThreadClock* clock) {
  Races* const races = current_watch();
  if (clock == nullptr || races == nullptr) return;
  races->take_part();
  const std::lock_guard lock(races->lock());
  raise(local.clock, clock->clock);
}

void end_thread(ThreadClock* clock) {
  Races* const races = current_watch();
  if (clock == nullptr || races == nullptr || !races->takes_part()) return;
  const std::lock_guard lock(races->lock());
  clock->clock = local.clock;
  local.active = false;
}

// A clock is small, and one that is never joined stays.
void thread_started(pthread_t thread, ThreadClock* clock) {
  if (Races* const races = current_watch(); races != nullptr) {
    const Inside inside;
    const std::lock_guard lock(races->lock());
    races->joined()[thread] = clock;
  }
}

void thread_joined(pthread_t thread) {
  Races* const races = current_watch();
  if (races == nullptr || !races->takes_part()) return;
  const Inside inside;
  const std::lock_guard lock(races->lock());
  if (const auto at = races->joined().find(thread); at != races->joined().end()) {
    raise(local.clock, at->second->clock);
    races->joined().erase(at);
  }
}

void acquired(const void* thing) {
  if (Races* const races = current_watch()) races->acquire(thing);
}
void releases(const void* thing) {
  if (Races* const races = current_watch()) races->release(thing);
}
void give_up_watch() {
  if (Races* const races = current_watch(); races != nullptr && races->takes_part()) races->give_up();
}
void forget_memory(const void* p, size_t bytes) {
  if (Races* const races = current_watch()) races->forget(p, bytes);
}

BarrierClock::BarrierClock() {
  Races* const races = current_watch();
  if (races == nullptr || !races->takes_part() || local.region == nullptr) return;
  const Inside inside;
  region_ = local.region;
  which_ = local.barriers++;
  const std::lock_guard lock(races->lock());
  if (region_->barriers.size() <= which_) region_->barriers.resize(which_ + 1);
  raise(region_->barriers[which_], local.clock);
  races->tick();
}

BarrierClock::~BarrierClock() {
  Races* const races = current_watch();
  if (region_ == nullptr || races == nullptr || !races->takes_part()) return;
  const std::lock_guard lock(races->lock());
  raise(local.clock, region_->barriers[which_]);
}

void load_watched_rungs() {
  static const bool done = [] {
    const char* path = std::getenv("KLAB_WATCHED_RUNGS");
    if (path == nullptr || *path == '\0') return true;
    const std::string remedy =
        ": build the target klab_cpu_watched and name its module, or leave the variable unset";
    if (!races_are_watched())
      throw std::invalid_argument(
          "KLAB_WATCHED_RUNGS: threads are watched by a klab that GCC has built without sanitizers");
    try {
      simt::load_module(path, false);
    } catch (const std::runtime_error& e) {
      throw std::invalid_argument(std::string("KLAB_WATCHED_RUNGS: ") + e.what() + remedy);
    }
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace klab
