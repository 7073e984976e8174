// State shared by the host threads that run the blocks of one grid concurrently.
//
// The outcome equals that of blocks that run sequentially in an order that the seed chooses. Blocks run ahead
// of their turn as long as no result can depend on it. Operations that other blocks can influence wait until
// all earlier blocks have ended: atomics and volatile accesses of global memory, printing, allocating, the
// clock, and accesses to words that another block has accessed. A block's counts and findings are added when
// its turn comes.
#pragma once

#include <atomic>
#include <bitset>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/simt/finding.h"
#include "harness/simt/flow.h"
#include "harness/simt/profile.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"
#include "harness/simt/split_cells.h"

namespace klab::simt {

/// Returns a pseudo-random hash of a number: splitmix64.
uint64_t mixed(uint64_t x);

/// The order of a grid's blocks: a permutation chosen by the seed, or that of their numbers.
class BlockOrder {
 public:
  BlockOrder(uint64_t blocks, uint64_t seed, bool by_number = false);
  /// In clusters: their blocks follow each other by rank.
  BlockOrder(const unsigned (&grid)[3], const unsigned (&cluster)[3], uint64_t seed);
  /// Returns the number of the block that runs in turn n.
  uint64_t operator[](uint64_t n) const;
  uint64_t size() const { return units_ * cluster_blocks(); }
  const unsigned (&cluster_size() const)[3] { return cluster_; }
  unsigned cluster_blocks() const { return cluster_[0] * cluster_[1] * cluster_[2]; }

 private:
  uint64_t units_, step_ = 1, begin_ = 0;  // blocks or clusters
  unsigned grid_[3] = {1, 1, 1}, cluster_[3] = {1, 1, 1};
};

/// Returns whether the block with that turn is watched, when only a share of the blocks is. Watched blocks
/// are evenly spaced; the first one is always watched.
bool is_watched(uint64_t turn, double share);

/// Threads of a block.
using ThreadSet = std::bitset<1024>;
/// By thread of a block: a fence has covered its accesses in an interval whose clock (Cell::write_sync) is smaller.
using ThreadClocks = std::vector<uint16_t>;
using ReleasedThreads = std::unordered_map<uint32_t, ThreadClocks>;

/// What blocks have released by atomics and flags, by address: for the blocks from turn `first` on the last interval, in which only
/// some threads count; 0: none.
struct Releases {
  struct One {
    size_t first = 0;
    std::vector<uint32_t> until;
    /// Makes room for the blocks [from, to).
    void widen(size_t from, size_t to);
  };
  std::unordered_map<uintptr_t, One> at;
  size_t entries = 0;  // of all `until`
  bool lost = false;   // too many: they were forgotten, and any flag may have released everything before
  void clear() { *this = {}; }
};

/// Results of one block.
struct BlockResult {
  uint64_t turn = 0;
  bool watched = false;
  uint64_t work = 0;              // Session::work()
  std::vector<Site> sites;        // its accesses, in order of first use
  std::vector<Finding> findings;  // distinct ones, with their number of occurrences
  std::vector<Flow::Edge> edges;  // edges of the flow that it saw first, or did not know
  int64_t barriers = 0, accesses = 0;
  std::optional<Finding> fatal;  // set if it ended the launch
  std::exception_ptr error;      // set if it could not be run
};

class Background;

class GridRun {
 public:
  GridRun(const Launch& launch, std::string kernel, Session& session, Profile* profile);
  GridRun(const Launch& launch, std::string kernel, Session& session, Profile* profile,
          const unsigned (&cluster)[3]);

  const Launch& launch;
  const std::string kernel;
  Session& session;
  const bool traced;
  const BlockOrder order;

  /// A block for a worker to run.
  struct Turn {
    uint64_t number = 0;  // number of blocks before it
    bool watched = false;
    std::vector<Flow::Edge> news;  // edges of the kernel's flow beyond the first `edges_known`
    size_t edges = 0;              // number of edges that the block begins with
  };
  /// Takes the next block, once it may begin. Returns false if there is none.
  bool take(Turn& turn, size_t edges_known);
  /// Takes the blocks of the next cluster, for the only host thread that runs the grid.
  bool take_cluster(std::vector<Turn>& turns, size_t edges_known);
  /// Waits until all earlier blocks have ended. Returns false if the launch ends before this block.
  bool wait_for(uint64_t turn);
  bool is_over(uint64_t turn) const { return turn > last_.load(std::memory_order_relaxed); }
  void ended(BlockResult result);
  /// The launch's own error. Valid once no thread works on it.
  std::optional<Finding> fatal() const { return fatal_; }
  std::exception_ptr error() const { return error_; }
  uint64_t watched_blocks() const { return watched_; }

  /// Assigns `count` intervals of time (shadow.h) to a block; returns the first.
  uint32_t intervals(uint64_t turn, uint32_t count);
  uint32_t first_interval() const { return first_interval_; }
  /// Returns the turn of the block that an interval of this launch belongs to.
  uint64_t turn_of(uint32_t interval);

  /// Returns the number of an access of the source; all threads share the numbers.
  uint16_t number_of_site(const Site& site);
  const void* place_of_site(uint16_t number);
  bool is_atomic(uint16_t number);

  /// Writes that blocks have released (Trace::atomic_at). Used only by the block whose turn it is.
  Releases released;
  ReleasedThreads released_threads;
  SplitCells split;                  // for words of global memory
  Background* background = nullptr;  // host code may run on while this launch waits for it

 private:
  void add(BlockResult& result);
  bool may_begin(bool watched);

  Profile* profile_;
  std::mutex mutex_;
  std::condition_variable moved_;
  uint64_t next_ = 0;
  std::atomic<uint64_t> ended_{0};            // blocks that have ended, from the first on without a gap
  std::atomic<uint64_t> last_{~uint64_t(0)};  // turn after which the launch ends
  std::map<uint64_t, BlockResult> waiting_;   // results of blocks that ended before their turn
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

/// Stops adding results, and waits for an addition in progress. Called when the process ends and prints its
/// counts. Safe in a signal handler.
void stop_adding();

}  // namespace klab::simt
