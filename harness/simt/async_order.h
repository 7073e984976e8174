// Order that mbarriers, named barriers and asynchronous agents make within a block: what each warp knows to be over.
//
// An agent is what accesses memory in a thread's stead: the copies that one mbarrier waits for, the matrix products of four
// warps, the bulk stores of one thread. Its accesses are numbered by the phase or the group that ends them. A warp that waits
// for the phase or group knows that it is over; an arrival passes on what its thread knows, and what it has done itself.
// Barriers of the whole block begin a new interval (shadow.h); only accesses of agents outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/simt/grid_run.h"
#include "harness/simt/shadow.h"

namespace klab::simt {

/// By thread and by agent of a block: accesses with a smaller number are over (Cell::write_sync); 0xFFFF: all.
struct BlockClocks {
  uint32_t interval = 0;  // in which `threads` holds; earlier accesses of threads are over
  ThreadClocks threads, agents;
  void merge(const BlockClocks& from);
};
/// What is over in the block itself, and in the other blocks of its cluster, by rank.
struct AsyncClocks : BlockClocks {
  std::vector<BlockClocks> peers;
  void merge(const AsyncClocks& from);
  /// Returns the same, as the block of rank `to` would have it. This is how the block of rank `from` has it.
  AsyncClocks seen_by(unsigned from, unsigned to) const;
};

enum class AgentKind : uint8_t { copies, products, stores };

/// Sets of threads and agents that have read a word. One for each block, or for each cluster.
class ReaderSets {
 public:
  struct Reader {
    uint16_t who, sync;  // Cell::kWarp and a warp, or an agent
    uint32_t lanes;
    uint32_t interval;  // when; 0: in the cell's
  };
  /// Someone and when; the interval is given in clusters only, where it tells the blocks apart.
  struct Reading {
    uint16_t who, sync;
    uint32_t interval = 0;
  };
  /// Returns a set: `before`, who may be a set itself (AsyncOrder::kSeveral), and one more.
  uint16_t add(const Reading& before, const Reading& more);
  const std::vector<Reader>& operator[](uint16_t set) const { return sets_[set]; }
  void clear();

 private:
  struct Step {
    uint64_t who, when;
    friend bool operator==(const Step&, const Step&) = default;
  };
  struct HashOfStep {
    size_t operator()(const Step& s) const { return size_t(mixed(s.who) ^ s.when); }
  };
  std::vector<std::vector<Reader>> sets_{1};
  std::unordered_map<Step, uint16_t, HashOfStep> steps_;
};

class AsyncOrder {
 public:
  /// When a thread did something.
  struct Moment {
    uint32_t interval = 0;
    uint16_t thread = 0, sync = 0;
  };
  /// Cell::reader: several warps and agents, a set of add_reader()'s in Cell::read_sync.
  static constexpr uint16_t kSeveral = 0x7FFF;
  static constexpr uint16_t kFirstAgent = 0x4000, kAgentsEnd = 0x7000;

  static bool is_agent(uint16_t who) { return who >= kFirstAgent && who < kAgentsEnd; }
  static AgentKind kind_of(uint16_t agent) { return AgentKind((agent >> 12) & 3); }

  bool on() const { return on_; }
  /// `sets`: those that the blocks of a cluster share; nullptr: its own.
  void turn_on(unsigned threads, unsigned warps, uint32_t interval, unsigned cluster, ReaderSets* sets);
  void turn_off() { on_ = false; }
  /// Returns a new agent, the last one again if there are too many.
  uint16_t new_agent(AgentKind kind);

  /// What a warp knows, in the current interval.
  AsyncClocks& of(unsigned warp, uint32_t interval);
  const AsyncClocks& of(unsigned warp) const { return warps_[warp]; }
  /// A barrier of the whole block: all know what one of them knows of agents.
  void all_met(uint32_t interval);
  /// Returns whether the warp knows that this access of a thread in that interval, or of an agent, is over.
  bool is_over(unsigned warp, uint32_t interval, uint16_t who, uint16_t sync) const;
  /// The same for an access in another block of the cluster.
  bool is_over_in(unsigned rank, unsigned warp, uint32_t interval, uint16_t who, uint16_t sync) const;
  /// The same for all warps of the block together.
  bool is_over_in(unsigned rank, uint32_t interval, uint16_t who, uint16_t sync) const;

  ReaderSets& readers() { return *sets_; }
  const ReaderSets& readers() const { return *sets_; }

  // Proxy fences (PTX manual, "Causality order": accesses of threads are ordered before those of agents only if a proxy fence
  // lies between).
  void fenced(const AsyncClocks& covered);
  bool is_fenced(uint32_t interval, uint16_t thread, uint16_t sync) const;
  bool is_fenced_in(unsigned rank, uint32_t interval, uint16_t thread, uint16_t sync) const;

 private:
  static bool covers(const ThreadClocks& clocks, unsigned which, uint16_t sync) {
    return which < clocks.size() && (sync < clocks[which] || clocks[which] == 0xFFFF);
  }
  static bool covers(const BlockClocks& clocks, uint32_t interval, uint16_t who, uint16_t sync);

  bool on_ = false;
  unsigned agents_ = 0;
  std::vector<AsyncClocks> warps_;
  ReaderSets own_sets_;
  ReaderSets* sets_ = &own_sets_;
  std::vector<AsyncClocks> fences_;  // one an interval, the last few
};

}  // namespace klab::simt
