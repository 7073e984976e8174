// What the threads of the host share that run the blocks of one grid beside each other.
//
// The outcome is that of blocks that run one after the other, in an order that the seed gives. Blocks run ahead of their turn
// as long as nobody can tell. What other blocks may have a say in waits until all blocks before have ended: atomics and
// volatile accesses of global memory, printing, allocating, the clock, and an access that meets another block's. What a
// block has counted and found is added when its turn has come.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/simt/finding.h"
#include "harness/simt/flow.h"
#include "harness/simt/profile.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"
#include "harness/simt/split_cells.h"

namespace klab::simt {

/// Bits that look random, of a number: splitmix64.
uint64_t mixed(uint64_t x);

/// The order of a grid's blocks: a permutation that the seed chooses.
class BlockOrder {
 public:
  BlockOrder(uint64_t blocks, uint64_t seed);
  /// The number of the block whose turn is n.
  uint64_t operator[](uint64_t n) const;
  uint64_t size() const { return blocks_; }

 private:
  uint64_t blocks_, step_, begin_;
};

/// Whether the block with that turn is watched, where a share of them is: every so often one, the first in any case.
bool is_watched(uint64_t turn, double share);

/// What one block has done.
struct BlockResult {
  uint64_t turn = 0;
  bool watched = false;
  uint64_t work = 0;              // Session::work()
  std::vector<Site> sites;        // its accesses, in the order it came to them
  std::vector<Finding> findings;  // different ones, with how often
  std::vector<Flow::Edge> edges;  // of the flow, that it saw first or for itself
  int64_t barriers = 0, accesses = 0;
  std::optional<Finding> fatal;  // it ended the launch
  std::exception_ptr error;      // it could not be run
};

class GridRun {
 public:
  GridRun(const Launch& launch, std::string kernel, Session& session, Profile* profile);

  const Launch& launch;
  const std::string kernel;
  Session& session;
  const bool traced;
  const BlockOrder order;

  /// What a worker is to run next.
  struct Turn {
    uint64_t number = 0;  // how many blocks come before it
    bool watched = false;
    std::vector<Flow::Edge> news;  // of the kernel's flow, since `edges_known` of them
    size_t edges = 0;              // that the block begins with
  };
  /// The next block, once it may begin. False where there is none.
  bool take(Turn& turn, size_t edges_known);
  /// Waits until all blocks before have ended. False where the launch ends before this one.
  bool wait_for(uint64_t turn);
  bool is_over(uint64_t turn) const { return turn > last_.load(std::memory_order_relaxed); }
  void ended(BlockResult result);
  /// The launch's own end, once nobody works on it any more.
  std::optional<Finding> fatal() const { return fatal_; }
  std::exception_ptr error() const { return error_; }
  uint64_t watched_blocks() const { return watched_; }

  /// `count` intervals of time (shadow.h) that are that block's; returns the first.
  uint32_t intervals(uint64_t turn, uint32_t count);
  uint32_t first_interval() const { return first_interval_; }
  /// The turn of the block that an interval of this launch belongs to.
  uint64_t turn_of(uint32_t interval);

  /// One number for each access of the source, whoever makes it.
  uint16_t number_of_site(const Site& site);
  const void* place_of_site(uint16_t number);
  bool is_atomic(uint16_t number);

  /// What blocks have passed on by atomics (Trace::atomic_at); for the block whose turn it is.
  struct Released {
    uintptr_t address;
    std::vector<uint32_t> until;  // by turn: the last interval; 0: none
  };
  std::vector<Released> released;
  SplitCells split;  // of words of global memory

 private:
  void add(BlockResult& result);
  bool may_begin(bool watched);

  Profile* profile_;
  std::mutex mutex_;
  std::condition_variable moved_;
  uint64_t next_ = 0;
  std::atomic<uint64_t> ended_{0};            // blocks, from the first on without a gap
  std::atomic<uint64_t> last_{~uint64_t(0)};  // turn behind which the launch ends
  std::map<uint64_t, BlockResult> waiting_;   // ended before their turn
  int sleepers_ = 0;
  uint64_t watched_ = 0;
  KnownFlow flow_;
  uint64_t watched_taken_ = 0, wave_ = 0;  // turn of the wave's first block
  std::optional<Finding> fatal_;
  std::exception_ptr error_;
  bool divergence_told_ = false;

  std::mutex intervals_mutex_;
  struct Chunk {
    uint32_t first;
    uint64_t turn;
  };
  std::vector<Chunk> chunks_;
  uint32_t first_interval_;
  std::mutex sites_mutex_;
  Profile sites_;
};

/// The process ends and wants to say what has been counted: from now on nothing is added, and nobody is about to. May be
/// called in a signal handler.
void stop_adding();

}  // namespace klab::simt
