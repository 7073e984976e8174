// Which accesses are ordered before the next one of the running thread: by barriers, by meetings of lanes, by fences with atomics
// and flags, by barriers in shared memory and agents (async_order.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/simt/access.h"
#include "harness/simt/async_order.h"
#include "harness/simt/shadow.h"
#include "harness/simt/trace_time.h"

namespace klab::simt {

class TraceOrder : public TraceTime {
 public:
  void fence(bool whole_device);  // __threadfence or __threadfence_block by the running thread
  /// Lanes of a warp have met. That is taken for the fence behind a flag.
  void lanes_met(unsigned warp, unsigned present) {
    for (unsigned lane = 0; unfenced_count_ != 0 && lane < 32; ++lane)
      if (present >> lane & 1) is_behind_flag(warp * 32 + lane);
  }
  /// All blocks have met: orders earlier accesses before later ones.
  void grid_synchronized();

  // Barriers in shared memory, named barriers, and agents (async_order.h).
  uint16_t new_agent(AgentKind kind);
  /// Returns what the running thread passes on by an arrival.
  AsyncClocks released();
  /// Records that the running thread has waited for arrivals that passed this on.
  void acquired(const AsyncClocks& clocks);
  /// Records that the running thread knows the agent's accesses below `until` to be over.
  void agent_known(uint16_t agent, uint16_t until);
  /// Orders accesses of the running thread before those of agents: fence.proxy.async.
  void proxy_fenced();
  AsyncOrder::Moment now() const;
  /// Returns whether that is ordered before the running thread.
  bool comes_before_me(const AsyncOrder::Moment& moment) const;

 protected:
  /// Clock of a warp up to which fences advance it; the rest is for __syncwarp.
  static constexpr uint16_t kMostFences = 0x8000;

  struct WarpClock {
    uint16_t now = 0, full = 0;
    std::array<uint16_t, 32> any{};  // last synchronization of each lane
    std::vector<uint16_t> pairs;     // [32,32], after partial masks
  };

  void launch_begins(Executor& executor, GridRun* grid);
  void block_begins();
  /// All threads of the block have met: begins an interval.
  void barrier_passed();
  /// Lanes of a warp have met at __syncwarp. Returns whether all have that have not ended.
  bool warp_synchronized(unsigned warp, unsigned present);

  /// Returns whether an access by `who` in that interval is ordered before the running thread's next access.
  bool ordered(uint32_t interval, uint16_t who, uint16_t sync) const;
  bool acquired(uint32_t interval, uint16_t who, uint16_t sync) const;
  /// Handles the order that an atomic or a flag creates between warps of its block.
  void order_warps(const void* p, bool reads, bool writes, bool acquires);
  /// Handles the order that an atomic or a flag creates between blocks: it releases what its block has fenced, and acquires what
  /// others have released. `address` is the same for all blocks.
  void order_blocks(uintptr_t address, bool reads, bool writes, bool acquires);
  /// The running thread reads a flag: it may say that copies in other streams, made while the launch runs, are over.
  void sees_meanwhile(bool acquires);
  void all_behind_flags() {
    unfenced_.clear();
    unfenced_count_ = 0;
  }
  /// Returns whether the running thread has executed a fence, in shared memory since the last barrier.
  bool has_fenced(bool shared) const;
  /// Returns whether all readers of a set (AsyncOrder::add_reader), the last of them in that interval, are ordered before the
  /// running thread's next access.
  bool readers_are_over(uint32_t interval, uint16_t set) const;
  void turn_on_async();
  /// Returns whether a proxy fence lies behind a thread's write.
  bool is_fenced(const Cell& cell) const;
  uint32_t reader_interval(uint32_t interval) const { return cluster_ != nullptr ? interval : 0; }

  std::vector<WarpClock> clocks_;
  std::vector<uint32_t> acquired_;  // Releases::One::until, of all blocks
  AsyncOrder async_;
  uint32_t meanwhile_seen_ = 0;  // work done while the launch runs up to this interval is over for the block

  /// What a thread had acquired before it saw a flag, with no fence since.
  struct Unfenced {
    bool on = false;
    std::vector<uint32_t> acquired;  // acquired_
    ThreadClocks of_warps;           // warp_acquired_
    uint32_t meanwhile = 0;          // meanwhile_seen_
  };
  std::vector<Unfenced> unfenced_;  // by thread
  size_t unfenced_count_ = 0;
  const Unfenced* unfenced_now_ = nullptr;  // of the running thread, during a plain access

 private:
  struct Fenced {
    uint32_t interval = 0;         // of the last fence; 0: none
    uint16_t until = 0, full = 0;  // clocks of the warp then: of the fence, and when its lanes last met
  };

  /// The running thread is about to see by a flag what other threads have released.
  void sees_flag(bool acquires);
  /// The thread has executed a fence behind the flags that it has seen.
  void is_behind_flag(unsigned thread) {
    if (thread < unfenced_.size() && std::exchange(unfenced_[thread].on, false)) --unfenced_count_;
  }
  /// Returns whether the running thread's warp has acquired what `who`, of its block, did in this interval.
  bool acquired_in_block(uint16_t who, uint16_t sync) const;
  /// Adds what a fence of the thread covers.
  void cover(ThreadClocks& clocks, unsigned thread, const Fenced& fence) const;

  // Order between blocks. A fence covers what its thread has done, and what other threads have done before
  // the last barrier. The thread's next atomic or flag releases that; so does an atomic behind a later barrier. Blocks
  // that later access the same address acquire it; the thread that does so needs a fence behind that.
  struct Fences {
    uint32_t interval = 0;  // 0: none
    ThreadClocks threads;   // covered by fences in it
  };
  Fences fences_, fences_before_;  // of the last two intervals of the block that have any
  Releases released_;
  ReleasedThreads released_threads_;

  // Order between warps of a block within an interval. A fence of any scope covers what its thread has done, and what its
  // warp had done when its lanes last met. The thread's next atomic or flag releases that, in global or shared memory; a warp
  // that later accesses the address acquires it.
  std::vector<Fenced> fenced_;     // by thread
  uint32_t warp_releases_in_ = 0;  // the interval of the following two
  std::unordered_map<const void*, ThreadClocks> warp_releases_;
  std::vector<ThreadClocks> warp_acquired_;  // by warp
};

}  // namespace klab::simt
